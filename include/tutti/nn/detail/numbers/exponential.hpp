// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <bit>
#include <cmath>
#include <cstdint>

namespace tutti::inline v0_1_0::nn::detail::inline numbers {

/// e to the x, within 2 units in the last place; x is clamped to [-87, 88]. Without branches and calls, so that loops
/// over it vectorise, unlike the standard library's; equal bits wherever the compiler does not fuse multiplications.
///
/// Uses e^x = 2^n e^r, |r| <= ln 2 / 2, with a polynomial for e^r (Cephes, expf).
[[nodiscard]] constexpr float exponential(float x) noexcept {
  x = x < -87.0F ? -87.0F : x;
  x = x > 88.0F ? 88.0F : x;
  constexpr float shift = 12582912.0F;  // 1.5 x 2^23: adding it rounds to the nearest integer
  float const sum = x * 1.44269504088896341F + shift;
  float const n = sum - shift;
  float const r = (x - n * 0.693359375F) + n * 2.12194440e-4F;  // ln 2 in two parts; n times the first is exact
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  std::uint32_t const exponent = std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(shift) + 127U;
  return p * std::bit_cast<float>(exponent << 23);
}

/// The exponential in double, for references.
[[nodiscard]] inline double exponential(double x) noexcept {
  return std::exp(x);
}

}  // namespace tutti::nn::detail::numbers
