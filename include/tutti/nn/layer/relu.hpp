// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/layer/concept.hpp>

namespace tutti::nn {

/// max(x, 0), with slope 0 at 0. A NaN stays one, so that a diverged training shows.
struct relu {
  /// He, Zhang, Ren, Sun, "Delving deep into rectifiers", ICCV 2015: half of the inputs are zero.
  static constexpr double gain = 1.4142135623730951;

  template <class T>
  [[nodiscard]] static constexpr T value(T sum) noexcept {
    return sum < T{0} ? T{0} : sum;
  }
  template <class T>
  [[nodiscard]] static constexpr T slope(T value) noexcept {
    return value > T{0} ? T{1} : T{0};
  }
};

static_assert(activation<relu, float>);

}  // namespace tutti::nn
