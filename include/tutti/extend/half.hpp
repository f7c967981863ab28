// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace tutti::inline v0_1_0 {

/// A 16-bit floating-point number, IEEE 754 binary16: 11 bits of precision, up to 65,504, subnormals down to 2^-24.
///
/// A format for storage and messages. Arithmetic is that of float: the conversion to float is implicit and exact. The
/// conversion back is explicit: `half(a + b)` rounds to nearest, ties to even; larger values become infinity. NaNs
/// keep their sign and leading payload bits, and become quiet. The conversions give the bits of the processors' own
/// (F16C, AVX-512) in every mode for subnormal floats, and have no branches, so that loops over them are vectorised.
class half {
 public:
  /// The type that reductions compute in.
  using computed_in = float;
  /// The name of this element type in errors, traces and the fingerprint of a call.
  static constexpr std::string_view element_name = "float16";

  half() = default;
  /// Rounds to the nearest, ties to even.
  constexpr explicit half(float x) noexcept : bits_(narrow(x)) {}
  /// The number with these bits.
  [[nodiscard]] static constexpr half from_bits(std::uint16_t bits) noexcept {
    half h;
    h.bits_ = bits;
    return h;
  }

  /// The bits: 1 of sign, 5 of exponent, 10 of fraction.
  [[nodiscard]] constexpr std::uint16_t bits() const noexcept { return bits_; }

  // NOLINTNEXTLINE(google-explicit-constructor): nothing is lost
  /// Converts exactly.
  [[nodiscard]] constexpr operator float() const noexcept {
#if defined(__CUDA_ARCH__)
    if (!std::is_constant_evaluated()) {
      return widen_on_device();
    }
#endif
    std::uint32_t const magnitude = bits_ & 0x7fffU;
    std::uint32_t const normal = (magnitude << 13) + (112U << 23);
    // Subnormals are small integers times 2^-24, so no subnormal float appears that a processor might flush.
    auto const subnormal =
        std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F);
    std::uint32_t const special = mask(magnitude >= 0x7c00U) & 0x7f800000U;
    std::uint32_t const quiet = mask(magnitude > 0x7c00U) & 0x400000U;
    std::uint32_t const sign = (bits_ & 0x8000U) << 16;
    return std::bit_cast<float>(sign | select(magnitude < 0x400U, subnormal, normal) | special | quiet);
  }

 private:
  // Selections by masks (compilers.md: Masks instead of branches).
  [[nodiscard]] static constexpr std::uint32_t mask(bool condition) noexcept {
    return 0U - static_cast<std::uint32_t>(condition);
  }
  [[nodiscard]] static constexpr std::uint32_t select(bool condition, std::uint32_t true_value,
                                                      std::uint32_t false_value) noexcept {
    return false_value ^ ((true_value ^ false_value) & mask(condition));
  }

#if defined(__CUDA_ARCH__)
  // A GPU has instructions for both directions; they lose the payload of NaNs.
  [[nodiscard]] __attribute__((device)) float widen_on_device() const noexcept {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits_));
    std::uint32_t const word = std::uint32_t{bits_} << 16;
    return x == x ? x : std::bit_cast<float>((word & 0x80000000U) | 0x7fc00000U | ((word & 0x3ff0000U) >> 3));
  }
  [[nodiscard]] __attribute__((device)) static std::uint16_t narrow_on_device(float x) noexcept {
    std::uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    auto const word = std::bit_cast<std::uint32_t>(x);
    return x == x ? bits : static_cast<std::uint16_t>(((word >> 16) & 0x8000U) | 0x7e00U | ((word >> 13) & 0x3ffU));
  }
#endif
  [[nodiscard]] static constexpr std::uint16_t narrow(float x) noexcept {
#if defined(__CUDA_ARCH__)
    if (!std::is_constant_evaluated()) {
      return narrow_on_device(x);
    }
#endif
    auto const word = std::bit_cast<std::uint32_t>(x);
    std::uint32_t const magnitude = word & 0x7fffffffU;
    // Adds half a unit less one, and one more if the last remaining bit is set. A carry increments the exponent.
    std::uint32_t const normal = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - (112U << 23)) >> 13;
    // The last bit of 1/2 weighs 2^-24, like that of a subnormal half, so the addition rounds.
    std::uint32_t const subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
    std::uint32_t const finite = select(magnitude < 0x38800000U, subnormal, normal);
    std::uint32_t const nan = mask(magnitude > 0x7f800000U) & (0x200U | ((magnitude >> 13) & 0x3ffU));
    std::uint32_t const result = select(magnitude >= 0x47800000U, 0x7c00U | nan, finite);
    return static_cast<std::uint16_t>(((word >> 16) & 0x8000U) | result);
  }

  std::uint16_t bits_;
};

}  // namespace tutti

/// @cond
template <>
class std::numeric_limits<tutti::half> : public std::numeric_limits<float> {
 public:
  static constexpr int digits = 11;
  static constexpr int digits10 = 3;
  static constexpr int max_digits10 = 5;
  static constexpr int min_exponent = -13;
  static constexpr int min_exponent10 = -4;
  static constexpr int max_exponent = 16;
  static constexpr int max_exponent10 = 4;
  [[nodiscard]] static constexpr tutti::half(min)() noexcept { return tutti::half::from_bits(0x0400); }
  [[nodiscard]] static constexpr tutti::half(max)() noexcept { return tutti::half::from_bits(0x7bff); }
  [[nodiscard]] static constexpr tutti::half lowest() noexcept { return tutti::half::from_bits(0xfbff); }
  [[nodiscard]] static constexpr tutti::half epsilon() noexcept { return tutti::half::from_bits(0x1400); }
  [[nodiscard]] static constexpr tutti::half round_error() noexcept { return tutti::half::from_bits(0x3800); }
  [[nodiscard]] static constexpr tutti::half infinity() noexcept { return tutti::half::from_bits(0x7c00); }
  [[nodiscard]] static constexpr tutti::half quiet_NaN() noexcept { return tutti::half::from_bits(0x7e00); }
  [[nodiscard]] static constexpr tutti::half signaling_NaN() noexcept { return tutti::half::from_bits(0x7d00); }
  [[nodiscard]] static constexpr tutti::half denorm_min() noexcept { return tutti::half::from_bits(0x0001); }
};
/// @endcond
