// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/schedule/concept.hpp>

#include <cstddef>

namespace tutti::nn {

/// The linear scaling rule: a batch k times as large takes a rate k times as high. (Krizhevsky, "One weird
/// trick for parallelizing convolutional neural networks", 2014; Goyal et al. 2017, section 2.1)
[[nodiscard]] inline float scaled_rate(float rate, std::size_t batch, std::size_t meant_for) noexcept {
  return static_cast<float>(static_cast<double>(rate) * static_cast<double>(batch) / static_cast<double>(meant_for));
}

/// Another schedule that begins gradually: in the first epochs its rates are multiplied by a share that
/// grows by the same amount at each step, from `from` to 1. (Goyal et al., "Accurate, large minibatch SGD:
/// training ImageNet in 1 hour", 2017, section 2.2, starts from the rate for a small batch: 1 / k)
template <schedule Schedule>
struct warm_up {
  Schedule then;
  double epochs = 0;
  double from = 0;

  [[nodiscard]] float rate(moment const& now) const noexcept {
    float const full = then.rate(now);
    return now.epoch < epochs
               ? static_cast<float>(static_cast<double>(full) * (from + (1 - from) * (now.epoch / epochs)))
               : full;
  }
};

}  // namespace tutti::nn
