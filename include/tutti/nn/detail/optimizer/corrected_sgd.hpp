// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/parameter_range.hpp>
#include <tutti/nn/detail/numbers/loops.hpp>
#include <tutti/nn/detail/optimizer/decay_runs.hpp>
#include <tutti/nn/extend/optimizer.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline optimizer {

/// `sgd` for gradients whose momentum was applied before they were summed (`momentum_correction`): uses them
/// directly, and keeps a momentum only for weight decay. Weights are equal on all ranks, so their decay need not be
/// sent and is never late. (Lin et al., "Deep gradient compression", ICLR 2018, in the authors' program)
///
/// Law: on sums over ranks of velocities with the same momentum it makes the steps of `sgd`, up to rounding.
template <class T, class Momentum>
class corrected_sgd : public nn::optimizer<T> {
 public:
  /// @param layers ranges of the layers' parameters, in order and without gaps
  /// @pre 0 <= momentum < 1, 0 <= decay
  corrected_sgd(std::vector<parameter_range> const& layers, T momentum, T decay = 0)
      : runs_(decay_runs(layers, decay)),
        parameters_(count_parameters(runs_)),
        velocity_(decay == T{0} ? 0 : parameters_),
        momentum_(momentum) {
    expects(momentum >= T{0} && momentum < T{1}, "corrected_sgd: momentum must be in [0, 1), not ", momentum);
    expects(decay >= T{0}, "corrected_sgd: weight decay must be 0 or more, not ", decay);
  }

  /// Makes one step. Cost: one pass over two vectors, three with weight decay; no allocation.
  void step(std::span<T> weights, std::span<T const> gradients, T rate) override {
    expects(weights.size() == parameters_ && gradients.size() == parameters_,
            "corrected_sgd: the optimizer was made for ", parameters_, " parameters, and a step has ", weights.size(),
            " weights and ", gradients.size(), " gradients; give as many of each");
    for (auto const& [first, size, run_decay] : runs_) {
      auto* const w = weights.data() + first;
      auto const* const g = gradients.data() + first;
      if (run_decay == T{0}) {
        elementwise(size, [=](std::size_t i) { w[i] -= rate * g[i]; });
        continue;
      }
      elementwise(size, [=, v = velocity_.data() + first, momentum = momentum_, decay = run_decay](std::size_t i) {
        T const slope = decay * w[i];
        v[i] = momentum * v[i] + slope;
        w[i] -= rate * (g[i] + Momentum::direction(slope, v[i], momentum));
      });
    }
  }

  /// The velocity of the weight decay, one number for each weight; empty without decay.
  [[nodiscard]] std::span<T> state() noexcept override { return velocity_; }

 private:
  std::vector<decay_run<T>> runs_;
  std::size_t parameters_;
  std::vector<T> velocity_;
  T momentum_;
};

}  // namespace tutti::nn::detail::optimizer
