// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/exponential.hpp>
#include <tutti/nn/layer/concept.hpp>

namespace tutti::nn {

/// The hyperbolic tangent; its absolute error is below 2^-22 for float.
struct tanh {
  static constexpr double gain = 1.0;

  template <class T>
  [[nodiscard]] static T value(T sum) noexcept {
    T const size = sum < T{0} ? -sum : sum;
    T const e = exponential(T{-2} * size);  // never overflows, and is exactly symmetric
    T const result = (T{1} - e) / (T{1} + e);
    return sum < T{0} ? -result : result;
  }
  template <class T>
  [[nodiscard]] static constexpr T slope(T value) noexcept {
    return T{1} - value * value;
  }
};

static_assert(activation<tanh, float>);

}  // namespace tutti::nn
