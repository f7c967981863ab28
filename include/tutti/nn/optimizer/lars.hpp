// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/parameter_range.hpp>
#include <tutti/nn/detail/numbers/norm.hpp>
#include <tutti/nn/detail/optimizer/decay_runs.hpp>
#include <tutti/nn/extend/optimizer.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Layer-wise adaptive rate scaling (LARS), for batches so large that one learning rate is too high for some layers
/// and too low for others: You, Gitman, Ginsburg, "Large batch training of convolutional networks", 2017, algorithm
/// 1. In each layer, with g' = g + decay w,
///
///     local = trust |w| / (|g| + decay |w|),   v = momentum v + rate local g',   w = w - v,
///
/// and local = 1 if |w| or |g| is zero, as in the first step of biases, which start at zero. Parameters of a layer that
/// do not decay are left out: for them local = 1 and decay = 0.
///
/// Equal weights and gradients give equal bits on every rank: the order in which norms are summed depends only on the
/// layer's size.
template <class T>
class lars : public optimizer<T> {
 public:
  /// The coefficients of the algorithm. The default of the trust coefficient is the paper's for its own networks.
  struct coefficients {
    /// The share of the velocity that is kept.
    T momentum = T(0.9);
    T decay = 0;  ///< decay of weights
    /// The trust coefficient.
    T trust = T(0.001);
  };

  /// @param layers ranges of the layers' parameters, in order and without gaps
  /// @pre 0 <= momentum < 1, 0 <= decay, 0 < trust
  lars(std::vector<parameter_range> layers, coefficients values) : layers_(std::move(layers)), coefficients_(values) {
    expects(values.momentum >= T{0} && values.momentum < T{1}, "lars: momentum must be in [0, 1), not ",
            values.momentum);
    expects(values.decay >= T{0}, "lars: weight decay must be 0 or more, not ", values.decay);
    expects(values.trust > T{0}, "lars: the trust coefficient must be above 0, not ", values.trust);
    velocity_.resize(detail::count_parameters(detail::decay_runs(layers_, values.decay)));
  }

  /// Makes one step. Cost: one pass over two vectors for the norms and one over three, no allocation.
  void step(std::span<T> weights, std::span<T const> gradients, T rate) override {
    expects(weights.size() == velocity_.size() && gradients.size() == velocity_.size(),
            "lars: the optimizer was made for ", velocity_.size(), " parameters, and a step has ", weights.size(),
            " weights and ", gradients.size(), " gradients; give as many of each");
    for (auto const& [offset, size, decay_exemptions] : layers_) {
      std::size_t const adapted_count = size - decay_exemptions;
      auto const w = weights.subspan(offset, size);
      auto const g = gradients.subspan(offset, size);
      T* const v = velocity_.data() + offset;
      move(w.data(), g.data(), v, adapted_count,
           rate * local_rate(detail::norm<T>(w.first(adapted_count)), detail::norm<T>(g.first(adapted_count))),
           coefficients_.decay);
      move(w.data() + adapted_count, g.data() + adapted_count, v + adapted_count, decay_exemptions, rate, T{0});
    }
  }

  /// The velocity, one number for each weight.
  [[nodiscard]] std::span<T> state() noexcept override { return velocity_; }

 private:
  [[nodiscard]] T local_rate(double weights, double gradients) const noexcept {
    return weights > 0 && gradients > 0 ? static_cast<T>(double{coefficients_.trust} * weights /
                                                         (gradients + double{coefficients_.decay} * weights))
                                        : T{1};
  }

  void move(T* w, T const* g, T* v, std::size_t count, T rate, T decay) const noexcept {
    T const momentum = coefficients_.momentum;
    for (std::size_t i = 0; i != count; ++i) {
      v[i] = momentum * v[i] + rate * (g[i] + decay * w[i]);
      w[i] -= v[i];
    }
  }

  std::vector<parameter_range> layers_;
  coefficients coefficients_;
  std::vector<T> velocity_;
};

}  // namespace tutti::nn
