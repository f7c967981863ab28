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

namespace tutti::inline v0_1_0::nn {

/// Heavy-ball momentum: the step is the velocity. (Polyak, "Some methods of speeding up the convergence of iteration
/// methods", 1964)
struct heavy_ball {
  /// The direction in which a weight moves, from its gradient and its velocity.
  template <class T>
  [[nodiscard]] static constexpr T direction(T /*gradient*/, T velocity, T /*momentum*/) noexcept {
    return velocity;
  }
};

/// Nesterov momentum: the step is the velocity after another step with the same gradient. (Nesterov 1983; in this
/// form Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and momentum in deep learning", ICML
/// 2013, with weights at the look-ahead point)
struct nesterov {
  /// The direction in which a weight moves, from its gradient and its velocity.
  template <class T>
  [[nodiscard]] static constexpr T direction(T gradient, T velocity, T momentum) noexcept {
    return gradient + momentum * velocity;
  }
};

/// Stochastic gradient descent with momentum: g' = g + decay w, v = momentum v + g', w = w - rate v, or another step
/// for another Momentum.
///
/// The rate is outside the velocity, so that a changing rate needs no correction of the momentum (Goyal et al.,
/// "Accurate, large minibatch SGD", 2017, section 3, remark 2). Weight decay is the derivative of decay / 2 |w|^2, a
/// part of the loss. Parameters of a layer that do not decay are updated as with decay 0.
///
/// Equal weights and gradients give equal bits on every rank: the state depends only on them, and each element is
/// computed independently.
template <class T, class Momentum = heavy_ball>
class sgd : public optimizer<T> {
 public:
  /// Constructs an optimizer for the parameters of these layers.
  /// @param layers ranges of the layers' parameters, in order and without gaps
  /// @pre 0 <= momentum < 1, 0 <= decay
  sgd(std::vector<parameter_range> const& layers, T momentum, T decay = 0)
      : runs_(detail::decay_runs(layers, decay)), velocity_(detail::count_parameters(runs_)), momentum_(momentum) {
    expects(momentum >= T{0} && momentum < T{1}, "sgd: momentum must be in [0, 1), not ", momentum);
    expects(decay >= T{0}, "sgd: weight decay must be 0 or more, not ", decay);
  }

  /// Constructs an optimizer for this many parameters, which all decay.
  sgd(std::size_t parameters, T momentum, T decay = 0)
      : sgd(std::vector<parameter_range>{{0, parameters}}, momentum, decay) {}

  /// Makes one step. Cost: one pass over three vectors, no allocation.
  void step(std::span<T> weights, std::span<T const> gradients, T rate) override {
    expects(weights.size() == velocity_.size() && gradients.size() == velocity_.size(),
            "sgd: the optimizer was made for ", velocity_.size(), " parameters, and a step has ", weights.size(),
            " weights and ", gradients.size(), " gradients; give as many of each");
    for (auto const& range : runs_) {
      if (range.decay == T{0}) {
        run(range, weights.data(), gradients.data(), rate, [](T g, T) { return g; });
      } else {
        run(range, weights.data(), gradients.data(), rate, [decay = range.decay](T g, T w) { return g + decay * w; });
      }
    }
  }

  /// The velocity, one number for each weight.
  [[nodiscard]] std::span<T> state() noexcept override { return velocity_; }

 private:
  template <class AddDecay>
  void run(detail::decay_run<T> const& range, T* weights, T const* gradients, T rate, AddDecay add_decay) noexcept {
    detail::elementwise(range.size, [=, w = weights + range.first, g = gradients + range.first,
                                     v = velocity_.data() + range.first, momentum = momentum_](std::size_t i) {
      T const gradient = add_decay(g[i], w[i]);
      v[i] = momentum * v[i] + gradient;
      w[i] -= rate * Momentum::direction(gradient, v[i], momentum);
    });
  }

  std::vector<detail::decay_run<T>> runs_;
  std::vector<T> velocity_;
  T momentum_;
};

}  // namespace tutti::nn
