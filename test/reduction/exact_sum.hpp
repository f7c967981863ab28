// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace exact {

/// A sum of doubles without rounding: an integer multiple of 2^-1074. Its digits have 32 bits, and may be larger or
/// negative for up to 2^30 additions.
class sum {
 public:
  void add(double x) {
    auto const bits = std::bit_cast<std::uint64_t>(x);
    std::uint64_t const exponent = bits >> 52 & 0x7ff;
    std::uint64_t const digits = (bits & 0xfffffffffffff) | (exponent == 0 ? 0 : std::uint64_t{1} << 52);
    std::size_t const at = exponent == 0 ? 0 : exponent - 1;  // the place of the last digit
    for (std::size_t bit = 0; bit < 53; bit += 16) {          // adds 16 bits at a time, which belong to two digits
      auto const part = static_cast<std::int64_t>(digits >> bit & 0xffff);
      std::size_t const place = at + bit;
      std::int64_t const aligned_part = part << (place % 32);
      digits_[place / 32] += (bits >> 63 != 0 ? -1 : 1) * (aligned_part & 0xffffffff);
      digits_[place / 32 + 1] += (bits >> 63 != 0 ? -1 : 1) * (aligned_part >> 32);
    }
  }

  /// The absolute value, to about 60 bits.
  [[nodiscard]] long double size() const {
    auto digits = digits_;
    bool negative = false;
    for (int pass = 0; pass != 2; ++pass) {
      std::int64_t carry = 0;
      for (auto& digit : digits) {
        digit = (pass == 1 && negative ? -digit : digit) + carry;
        carry = digit >> 32;
        digit &= 0xffffffff;
      }
      if (pass == 0) {
        negative = carry < 0;
        digits = digits_;
      }
    }
    long double result = 0;
    for (std::size_t i = digits.size(); i-- != 0;) {
      result += std::ldexp(static_cast<long double>(digits[i]), static_cast<int>(32 * i) - 1074);
    }
    return result;
  }

 private:
  std::array<std::int64_t, 70> digits_{};
};

}  // namespace exact
