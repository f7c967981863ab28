// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/element.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

/// Laws of a 16-bit floating-point format: its values, by definition, and the conversion from float to the nearest
/// one, ties to even. Each function returns a violation, or nothing.
namespace short_float {

/// Exponents are those of normal numbers 1.f x 2^e.
struct format {
  int precision;
  int least_exponent;
  int greatest_exponent;
};

/// The value of a bit pattern, by the definition of the format.
inline double value_of(format f, std::uint16_t bits) {
  int const fraction_bits = f.precision - 1;
  int const fraction = bits & ((1 << fraction_bits) - 1);
  int const exponent = (bits & 0x7fff) >> fraction_bits;
  double const sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (0x7fff >> fraction_bits)) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return exponent == 0
             ? sign * std::ldexp(fraction, f.least_exponent - fraction_bits)
             : sign * std::ldexp((1 << fraction_bits) + fraction, exponent - 1 + f.least_exponent - fraction_bits);
}

/// The bits of the value nearest to x (not NaN), computed in double by the definition of rounding: x over the weight
/// of the last bit, to the nearest integer.
inline std::uint16_t nearest(format f, float x) {
  int const fraction_bits = f.precision - 1;
  auto const infinity = static_cast<std::uint16_t>(0x7fff >> fraction_bits << fraction_bits);
  auto const sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
  double const magnitude = std::fabs(static_cast<double>(x));
  if (std::isinf(x)) {
    return sign | infinity;
  }
  int const exponent = magnitude == 0 ? f.least_exponent : std::max(std::ilogb(magnitude), f.least_exponent);
  auto const units = std::lrint(std::ldexp(magnitude, fraction_bits - exponent));
  // Units of a subnormal are its bits; those of a normal number include the leading one.
  auto const bits = ((exponent - f.least_exponent) << fraction_bits) + units;
  return sign | (bits >= infinity ? infinity : static_cast<std::uint16_t>(bits));
}

inline std::string name_of(std::uint32_t bits) {
  return "bits " + std::to_string(bits);
}

template <class T>
[[nodiscard]] std::string wrongly_widened(format f) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto const x = static_cast<float>(T::from_bits(static_cast<std::uint16_t>(bits)));
    double const expected = value_of(f, static_cast<std::uint16_t>(bits));
    bool const is_right = std::isnan(expected) ? std::isnan(x) && std::signbit(x) == ((bits & 0x8000) != 0)
                                               : x == expected && std::signbit(x) == std::signbit(expected);
    if (!is_right) {
      return name_of(bits);
    }
  }
  return {};
}

template <class T>
[[nodiscard]] std::string wrongly_restored() {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto const x = T::from_bits(static_cast<std::uint16_t>(bits));
    auto const quiet = static_cast<std::uint16_t>(x != x ? std::numeric_limits<T>::quiet_NaN().bits() : 0);
    if (T(static_cast<float>(x)).bits() != (x.bits() | (quiet & 0x7fff))) {
      return name_of(bits);
    }
  }
  return {};
}

template <class T>
[[nodiscard]] bool rounds(format f, std::uint32_t float_bits) {
  auto const x = std::bit_cast<float>(float_bits);
  return std::isnan(x) || T(x).bits() == nearest(f, x);
}

/// Tries each value, the midpoint between it and the next one, and the floats on both sides of either.
template <class T>
[[nodiscard]] std::string wrongly_rounded_boundary(format f) {
  int const dropped_bits = 24 - f.precision;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto const at = std::bit_cast<std::uint32_t>(static_cast<float>(T::from_bits(static_cast<std::uint16_t>(bits))));
    // The midpoint of two subnormals is further down in a float's fraction, so each of its bits is tried.
    for (int bit = dropped_bits - 1; bit < 23; ++bit) {
      for (std::uint32_t delta : {0xffffffffU, 0U, 1U}) {
        if (!rounds<T>(f, at + (1U << bit) + delta) || !rounds<T>(f, at + delta)) {
          return name_of(at) + " and bit " + std::to_string(bit);
        }
      }
    }
  }
  return {};
}

template <class T>
[[nodiscard]] std::string wrongly_rounded_at_random(format f) {
  std::mt19937 random(7);
  for (int i = 0; i < 2'000'000; ++i) {
    auto const bits = static_cast<std::uint32_t>(random());
    if (!rounds<T>(f, bits)) {
      return name_of(bits);
    }
  }
  return {};
}

/// Sign and leading payload bits stay, the quiet bit is set; `dropped_bits` of a float's fraction are lost.
template <class T>
[[nodiscard]] std::string wrong_nan(int dropped_bits) {
  auto const quiet = std::numeric_limits<T>::quiet_NaN().bits();
  for (std::uint32_t fraction : {1U, 0x1000U, 0x2000U, 0x155555U, 0x3fffffU, 0x400000U, 0x7fffffU}) {
    for (std::uint32_t sign : {0U, 0x80000000U}) {
      std::uint32_t const bits = sign | 0x7f800000U | fraction;
      auto const expected = static_cast<std::uint16_t>((sign >> 16) | quiet | (fraction >> dropped_bits));
      if (T(std::bit_cast<float>(bits)).bits() != expected) {
        return name_of(bits);
      }
    }
  }
  return {};
}

template <class T>
[[nodiscard]] std::string wrong_limits(format f) {
  using limits = std::numeric_limits<T>;
  int const fraction_bits = f.precision - 1;
  bool const is_right = limits::digits == f.precision &&
                        limits::max() == std::ldexp(2.0 - std::ldexp(1.0, -fraction_bits), f.greatest_exponent) &&
                        limits::lowest() == -limits::max() && limits::min() == std::ldexp(1.0, f.least_exponent) &&
                        limits::denorm_min() == std::ldexp(1.0, f.least_exponent - fraction_bits) &&
                        limits::epsilon() == std::ldexp(1.0, -fraction_bits) && limits::round_error() == 0.5F &&
                        std::isinf(static_cast<float>(limits::infinity())) &&
                        std::isnan(static_cast<float>(limits::quiet_NaN())) &&
                        std::isnan(static_cast<float>(limits::signaling_NaN())) &&
                        limits::max_exponent == f.greatest_exponent + 1 && limits::min_exponent == f.least_exponent + 1;
  return is_right ? "" : "the limits";
}

}  // namespace short_float
