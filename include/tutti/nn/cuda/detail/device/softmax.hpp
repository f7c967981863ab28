// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/cuda/detail/device/math.hpp>
#include <tutti/nn/detail/numbers/exponential.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

// The loss of a row, in functions for devices and hosts.
namespace tutti::inline v0_1_0::nn::detail::device {

/// The largest number of a row, and its index.
struct largest_of_row {
  float value;
  std::size_t at;

  /// Returns the larger one; the first of equal ones.
  [[nodiscard]] static constexpr largest_of_row larger(largest_of_row const& a, largest_of_row const& b) {
    return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
  }
};

/// A model of lanes on a host: a single one.
struct one_lane {
  [[nodiscard]] static constexpr std::size_t rank() { return 0; }
  [[nodiscard]] static constexpr std::size_t size() { return 1; }
  [[nodiscard]] static constexpr largest_of_row largest(largest_of_row const& value) { return value; }
  [[nodiscard]] static constexpr float sum(float value) { return value; }
};

/// The metrics of one row.
struct row_metrics {
  float loss;
  float correct;
};

/// Computes the cross entropy of softmax(row) to the target, which is the label, smoothed, and, unless `derivatives` is
/// null, `step.scale` times its derivative. Lanes share the row and return equal results: `largest` and `sum` are
/// reductions over the lanes.
template <class Lanes, class T>
constexpr row_metrics softmax_of_row(Lanes const& g, std::size_t classes, T const* row, std::size_t label,
                                     loss_step const& step, T* derivatives) {
  constexpr float least = -INFINITY;
  largest_of_row best{least, g.rank()};
  for (std::size_t c = g.rank(); c < classes; c += g.size()) {
    auto const x = static_cast<float>(row[c]);
    best = x > best.value ? largest_of_row{x, c} : best;
  }
  best = g.largest(best);
  auto const first = static_cast<float>(row[0]);
  if (first != first) {  // no number is larger than a NaN
    best = {first, 0};
  }
  float value = 0;
  for (std::size_t c = g.rank(); c < classes; c += g.size()) {
    value += exponential(static_cast<float>(row[c]) - best.value);
  }
  float const total = g.sum(value);
  float target_distance = best.value - static_cast<float>(row[label]);  // from the largest number to the target's mean
  float const class_share = step.smoothing / static_cast<float>(classes);
  if (step.smoothing != 0) {
    float distances = 0;
    for (std::size_t c = g.rank(); c < classes; c += g.size()) {
      distances += best.value - static_cast<float>(row[c]);
    }
    target_distance = target_distance * (1.0F - step.smoothing) + class_share * g.sum(distances);
  }
  float const loss = std::log(total) + target_distance;
  if (derivatives != nullptr) {
    float const factor = step.scale / total;
    float const label_term = step.scale * (1.0F - step.smoothing);
    float const class_term = step.scale * class_share;
    for (std::size_t c = g.rank(); c < classes; c += g.size()) {
      float const slope = exponential(static_cast<float>(row[c]) - best.value) * factor - class_term;
      derivatives[c] = static_cast<T>(c == label ? slope - label_term : slope);
    }
  }
  return {loss, best.at == label ? 1.0F : 0.0F};
}

}  // namespace tutti::nn::detail::device
