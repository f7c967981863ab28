// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tutti::inline v0_1_0 {

/// A 16-bit floating-point number, the upper half of a float: the same range, and 8 bits of precision.
///
/// A format for storage and messages. Arithmetic is that of float: the conversion to float is implicit and exact. The
/// conversion back is explicit: `bfloat16(a + b)` rounds to nearest, ties to even, subnormals included (the
/// processors' own instructions flush them, and so are not used); larger values become infinity. NaNs keep their sign
/// and leading payload bits, and become quiet.
class bfloat16 {
 public:
  /// The type that reductions compute in.
  using computed_in = float;
  /// The name of this element type in errors, traces and the fingerprint of a call.
  static constexpr std::string_view element_name = "bfloat16";

  bfloat16() = default;
  /// Rounds to the nearest, ties to even.
  constexpr explicit bfloat16(float x) noexcept : bits_(narrow(x)) {}
  /// The number with these bits.
  [[nodiscard]] static constexpr bfloat16 from_bits(std::uint16_t bits) noexcept {
    bfloat16 b;
    b.bits_ = bits;
    return b;
  }

  /// The bits: 1 of sign, 8 of exponent, 7 of fraction.
  [[nodiscard]] constexpr std::uint16_t bits() const noexcept { return bits_; }

  // NOLINTNEXTLINE(google-explicit-constructor): nothing is lost
  /// Converts exactly.
  [[nodiscard]] constexpr operator float() const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16);
  }

 private:
  [[nodiscard]] static constexpr std::uint16_t narrow(float x) noexcept {
    auto const word = std::bit_cast<std::uint32_t>(x);
    std::uint32_t const rounded_word = word + 0x7fffU + ((word >> 16) & 1U);
    std::uint32_t const nan = word | 0x400000U;
    return static_cast<std::uint16_t>(((word & 0x7fffffffU) > 0x7f800000U ? nan : rounded_word) >> 16);
  }

  std::uint16_t bits_;
};

}  // namespace tutti

/// @cond
template <>
class std::numeric_limits<tutti::bfloat16> : public std::numeric_limits<float> {
 public:
  static constexpr int digits = 8;
  static constexpr int digits10 = 2;
  static constexpr int max_digits10 = 4;
  [[nodiscard]] static constexpr tutti::bfloat16(min)() noexcept { return tutti::bfloat16::from_bits(0x0080); }
  [[nodiscard]] static constexpr tutti::bfloat16(max)() noexcept { return tutti::bfloat16::from_bits(0x7f7f); }
  [[nodiscard]] static constexpr tutti::bfloat16 lowest() noexcept { return tutti::bfloat16::from_bits(0xff7f); }
  [[nodiscard]] static constexpr tutti::bfloat16 epsilon() noexcept { return tutti::bfloat16::from_bits(0x3c00); }
  [[nodiscard]] static constexpr tutti::bfloat16 round_error() noexcept { return tutti::bfloat16::from_bits(0x3f00); }
  [[nodiscard]] static constexpr tutti::bfloat16 infinity() noexcept { return tutti::bfloat16::from_bits(0x7f80); }
  [[nodiscard]] static constexpr tutti::bfloat16 quiet_NaN() noexcept { return tutti::bfloat16::from_bits(0x7fc0); }
  [[nodiscard]] static constexpr tutti::bfloat16 signaling_NaN() noexcept { return tutti::bfloat16::from_bits(0x7fa0); }
  [[nodiscard]] static constexpr tutti::bfloat16 denorm_min() noexcept { return tutti::bfloat16::from_bits(0x0001); }
};
/// @endcond
