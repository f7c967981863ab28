// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/layer/concept.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace tutti::nn {

/// max(x, 0), with slope 0 at 0. A NaN stays one, so that a diverged training shows.
struct relu {
  /// He, Zhang, Ren, Sun, "Delving deep into rectifiers", ICCV 2015: half of the inputs are zero.
  static constexpr double gain = 1.4142135623730951;

  template <class T>
  [[nodiscard]] static constexpr T value(T sum) noexcept {
    return sum < T{0} ? T{0} : sum;
  }
  /// By masks: a comparison of numbers may raise a flag, so that one which depends on another, that of `value`, would
  /// be a branch.
  template <class T>
  [[nodiscard]] static constexpr T slope(T value) noexcept {
    using bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    auto const positive = static_cast<bits>(std::bit_cast<bits>(value) > 0);
    return std::bit_cast<T>(-positive & std::bit_cast<bits>(T{1}));
  }
};

static_assert(activation<relu, float>);

}  // namespace tutti::nn
