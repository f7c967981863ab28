// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/parameter_range.hpp>
#include <tutti/nn/detail/numbers/loops.hpp>
#include <tutti/nn/detail/optimizer/decay_runs.hpp>
#include <tutti/nn/extend/optimizer.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Weight decay as the derivative of decay / 2 |w|^2, a part of the loss: Adam's means include it.
struct loss_decay {
  /// The slope that the optimizer follows.
  template <class T>
  [[nodiscard]] static constexpr T slope(T gradient, T weight, T decay) noexcept {
    return gradient + decay * weight;
  }
  /// The share of a weight that remains, apart from the step.
  template <class T>
  [[nodiscard]] static constexpr T remainder(T /*rate*/, T /*decay*/) noexcept {
    return T{1};
  }
};

/// Weight decay beside the step: w = (1 - rate decay) w. (Loshchilov, Hutter, "Decoupled weight decay regularization",
/// ICLR 2019)
struct decoupled_decay {
  /// The slope that the optimizer follows.
  template <class T>
  [[nodiscard]] static constexpr T slope(T gradient, T /*weight*/, T /*decay*/) noexcept {
    return gradient;
  }
  /// The share of a weight that remains, apart from the step.
  template <class T>
  [[nodiscard]] static constexpr T remainder(T rate, T decay) noexcept {
    return T{1} - rate * decay;
  }
};

/// Adam: steps by the mean of gradients, divided by the root of the mean of their squares. (Kingma, Ba, "Adam: a method
/// for stochastic optimization", ICLR 2015, algorithm 1) With decoupled_decay it is AdamW. In step t, with
/// g' = g + decay w, or g' = g for decoupled_decay,
///
///     m = beta1 m + (1 - beta1) g',   v = beta2 v + (1 - beta2) g'^2,
///     w = w - rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
///
/// Equal weights and gradients give equal bits on every rank: the state depends only on them, each element is computed
/// independently, and the powers by multiplications alone.
template <class T, class Decay = loss_decay>
class adam : public optimizer<T> {
 public:
  /// The coefficients of the algorithm, with the defaults of its authors.
  struct coefficients {
    /// The share of the mean of gradients that is kept.
    T beta1 = T(0.9);
    T beta2 = T(0.999);   ///< share of the mean of squared gradients that is kept
    T epsilon = T(1e-8);  ///< least divisor of a step
    T decay = 0;          ///< decay of weights
  };

  /// @param layers ranges of the layers' parameters, in order and without gaps
  /// @pre beta1 and beta2 are in [0, 1), 0 < epsilon, 0 <= decay
  adam(std::vector<parameter_range> const& layers, coefficients values)
      : runs_(detail::decay_runs(layers, values.decay)),
        count_(detail::count_parameters(runs_)),
        coefficients_(values),
        state_(2 * count_ + 1) {
    expects(values.beta1 >= T{0} && values.beta1 < T{1} && values.beta2 >= T{0} && values.beta2 < T{1},
            "adam: beta1 and beta2 must be in [0, 1), not ", values.beta1, " and ", values.beta2);
    expects(values.epsilon > T{0}, "adam: epsilon must be above 0, not ", values.epsilon);
    expects(values.decay >= T{0}, "adam: weight decay must be 0 or more, not ", values.decay);
  }

  /// Makes one step. Cost: one pass over four vectors, no allocation.
  void step(std::span<T> weights, std::span<T const> gradients, T rate) override {
    expects(weights.size() == count_ && gradients.size() == count_, "adam: the optimizer was made for ", count_,
            " parameters, and a step has ", weights.size(), " weights and ", gradients.size(),
            " gradients; give as many of each");
    state_.back() += T{1};
    auto const steps = static_cast<std::uint64_t>(state_.back());
    double const root = std::sqrt(1 - power(double{coefficients_.beta2}, steps));
    T const step_rate = static_cast<T>(double{rate} * root / (1 - power(double{coefficients_.beta1}, steps)));
    T const epsilon = static_cast<T>(double{coefficients_.epsilon} * root);
    for (auto const& [first, size, decay] : runs_) {
      run(size, weights.data() + first, gradients.data() + first, state_.data() + first, state_.data() + count_ + first,
          {step_rate, epsilon, decay, Decay::remainder(rate, decay)});
    }
  }

  /// The means of gradients, then those of their squares, then the number of steps, which is exact up to 2^24 in float;
  /// beyond, the corrections no longer change.
  [[nodiscard]] std::span<T> state() noexcept override { return state_; }

 private:
  struct factors {
    T rate;
    T epsilon;
    T decay;
    T remainder;
  };

  void run(std::size_t size, T* w, T const* g, T* m, T* v, factors const& f) const {
    auto const rest = [](T beta) { return static_cast<T>(1 - double{beta}); };
    detail::elementwise(size, [=, beta1 = coefficients_.beta1, beta2 = coefficients_.beta2,
                               rest1 = rest(coefficients_.beta1), rest2 = rest(coefficients_.beta2)](std::size_t i) {
      T const slope = Decay::slope(g[i], w[i], f.decay);
      m[i] = beta1 * m[i] + rest1 * slope;
      v[i] = beta2 * v[i] + rest2 * slope * slope;
      w[i] = f.remainder * w[i] - f.rate * m[i] / (std::sqrt(v[i]) + f.epsilon);
    });
  }

  /// A power by multiplications, because the last bit of std::pow differs between libraries.
  [[nodiscard]] static double power(double base, std::uint64_t exponent) noexcept {
    double result = 1;
    for (; exponent != 0; exponent /= 2, base *= base) {
      result *= exponent % 2 != 0 ? base : 1.0;
    }
    return result;
  }

  std::vector<detail::decay_run<T>> runs_;
  std::size_t count_;
  coefficients coefficients_;
  std::vector<T> state_;
};

}  // namespace tutti::nn
