// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/expects.hpp>
#include <tutti/nn/norm.hpp>
#include <tutti/nn/optimizer/concept.hpp>
#include <tutti/nn/parameter_range.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tutti::nn {

/// Layer-wise adaptive rate scaling, for batches so large that one learning rate is too much for some
/// layers and too little for others: You, Gitman, Ginsburg, "Large batch training of convolutional
/// networks", 2017, algorithm 1. In each layer, with g' = g + decay w,
///
///     local = trust |w| / (|g| + decay |w|),   v = momentum v + rate local g',   w = w - v,
///
/// and local = 1 where |w| or |g| is zero, as at the first step of biases, which start from zero.
///
/// The same weights and gradients give the same bits on every rank: norms are added up in an order that
/// depends on the layer's size alone.
template <class T>
class lars {
 public:
  using value_type = T;

  /// What the algorithm is told. The trust coefficient is the paper's for its own networks.
  struct numbers {
    T momentum = T(0.9);
    T decay = 0;
    T trust = T(0.001);
  };

  /// @param layers where each layer's parameters lie, one after the other, without gaps
  /// @pre 0 <= momentum < 1, 0 <= decay, 0 < trust
  lars(std::vector<parameter_range> layers, numbers asked) : layers_(std::move(layers)), asked_(asked) {
    std::size_t count = 0;
    for (auto const& layer : layers_) {
      expects(layer.offset == count, "lars: layers lie one after the other");
      count += layer.size;
    }
    expects(asked.momentum >= T{0} && asked.momentum < T{1}, "lars: momentum lies in [0, 1)");
    expects(asked.decay >= T{0}, "lars: weight decay is not negative");
    expects(asked.trust > T{0}, "lars: the trust coefficient is positive");
    velocity_.resize(count);
  }

  /// One step. Cost: one pass over two vectors for the norms and one over three, no allocation.
  void step(std::span<T> weights, std::span<T const> gradients, T rate) {
    expects(weights.size() == velocity_.size() && gradients.size() == velocity_.size(),
            "lars: as many weights and gradients as the optimizer was made for");
    for (auto const [offset, size] : layers_) {
      auto const w = weights.subspan(offset, size);
      auto const g = gradients.subspan(offset, size);
      move(w.data(), g.data(), velocity_.data() + offset, size, rate * local_rate(norm<T>(w), norm<T>(g)));
    }
  }

  /// One number for each weight.
  [[nodiscard]] std::span<T> state() noexcept { return velocity_; }

 private:
  [[nodiscard]] T local_rate(double weights, double gradients) const noexcept {
    return weights > 0 && gradients > 0
               ? static_cast<T>(double{asked_.trust} * weights / (gradients + double{asked_.decay} * weights))
               : T{1};
  }

  void move(T* w, T const* g, T* v, std::size_t count, T rate) const noexcept {
    T const momentum = asked_.momentum;
    T const decay = asked_.decay;
    for (std::size_t i = 0; i != count; ++i) {
      v[i] = momentum * v[i] + rate * (g[i] + decay * w[i]);
      w[i] -= v[i];
    }
  }

  std::vector<parameter_range> layers_;
  numbers asked_;
  std::vector<T> velocity_;
};

static_assert(optimizer<lars<float>>);

}  // namespace tutti::nn
