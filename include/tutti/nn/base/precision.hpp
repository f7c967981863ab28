// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <string_view>

namespace tutti::inline v0_1_0::nn {

/// The type of the values between layers on a device. Sums, parameters, gradients, statistics and the optimizer's
/// state are always floats.
enum class precision {
  float32,   ///< float, and products of floats
  bfloat16,  ///< 8 bits of mantissa, the range of float
  float16    ///< 11 bits of mantissa, a range so small that losses are scaled
};

/// The word for the precision in options and reports.
[[nodiscard]] constexpr std::string_view name(precision p) noexcept {
  constexpr std::string_view names[] = {"float", "bf16", "fp16"};
  return names[static_cast<std::size_t>(p)];
}

/// The size of such a value in bytes.
[[nodiscard]] constexpr std::size_t bytes_of(precision p) noexcept {
  return p == precision::float32 ? 4 : 2;
}

}  // namespace tutti::nn
