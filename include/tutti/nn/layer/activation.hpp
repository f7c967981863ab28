// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/numbers/exponential.hpp>
#include <tutti/nn/extend/activation_kind.hpp>
#include <tutti/nn/extend/layer.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace tutti::inline v0_1_0::nn {

/// No activation: for the last layer of a classifier, whose loss takes the sums themselves.
struct identity {
  /// The factor of the initial weights.
  static constexpr double gain = 1.0;
  /// The activation in a geometry.
  static constexpr activation_kind kind = activation_kind::identity;

  /// The value of the function.
  template <class T>
  [[nodiscard]] static constexpr T value(T sum) noexcept {
    return sum;
  }
  /// The derivative, from the value of the function.
  template <class T>
  [[nodiscard]] static constexpr T derivative(T) noexcept {
    return T{1};
  }
};

static_assert(activation<identity, float>);

/// max(x, 0), with derivative 0 at 0. A NaN stays NaN, so that divergence shows.
struct relu {
  /// The factor of the initial weights: half of the inputs are zero. (He, Zhang, Ren, Sun, "Delving deep into
  /// rectifiers", ICCV 2015)
  static constexpr double gain = 1.4142135623730951;
  /// The activation in a geometry.
  static constexpr activation_kind kind = activation_kind::relu;

  /// The value of the function.
  template <class T>
  [[nodiscard]] static constexpr T value(T sum) noexcept {
    return sum < T{0} ? T{0} : sum;
  }
  /// The derivative, from the value of the function. Uses masks: floating-point comparisons may raise a flag, so that
  /// one which depends on the comparison in `value` would compile to a branch.
  template <class T>
  [[nodiscard]] static constexpr T derivative(T value) noexcept {
    using bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    auto const positive = static_cast<bits>(std::bit_cast<bits>(value) > 0);
    return std::bit_cast<T>(-positive & std::bit_cast<bits>(T{1}));
  }
};

static_assert(activation<relu, float>);

/// The hyperbolic tangent; its absolute error is below 2^-22 for float.
struct tanh {
  /// The factor of the initial weights.
  static constexpr double gain = 1.0;
  /// The activation in a geometry.
  static constexpr activation_kind kind = activation_kind::tanh;

  /// The value of the function.
  template <class T>
  [[nodiscard]] static constexpr T value(T sum) noexcept {
    T const size = sum < T{0} ? -sum : sum;
    T const e = detail::exponential(T{-2} * size);  // never overflows, and is exactly symmetric
    T const result = (T{1} - e) / (T{1} + e);
    return sum < T{0} ? -result : result;
  }
  /// The derivative, from the value of the function.
  template <class T>
  [[nodiscard]] static constexpr T derivative(T value) noexcept {
    return T{1} - value * value;
  }
};

static_assert(activation<tanh, float>);

/// 1 / (1 + e^-x).
struct sigmoid {
  /// The factor of the initial weights: the derivative at 0 is 1/4, so weights four times as large preserve the
  /// spread of a signal.
  static constexpr double gain = 4.0;
  /// The activation in a geometry.
  static constexpr activation_kind kind = activation_kind::sigmoid;

  /// The value of the function.
  template <class T>
  [[nodiscard]] static constexpr T value(T sum) noexcept {
    return T{1} / (T{1} + detail::exponential(-sum));
  }
  /// The derivative, from the value of the function.
  template <class T>
  [[nodiscard]] static constexpr T derivative(T value) noexcept {
    return value * (T{1} - value);
  }
};

static_assert(activation<sigmoid, float>);

}  // namespace tutti::nn
