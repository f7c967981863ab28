// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>

#include <charconv>

namespace tutti::inline v0_1_0::detail::inline base {

inline constexpr std::size_t longest_real = 400;  // 309 digits before the point, and the places after it

TUTTI_DECL std::string fixed_text(double value, int places) {
  char text[longest_real];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, places).ptr};
}

TUTTI_DECL std::string general_text(double value, int digits) {
  char text[longest_real];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr};
}

TUTTI_DECL bool read_digits(std::string_view text, unsigned base, std::uint64_t limit, std::uint64_t& value) noexcept {
  std::uint64_t sum = 0;
  for (char const c : text) {
    unsigned const digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                           : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A') + 10
                                                  : base;
    if (digit >= base || digit > limit || sum > (limit - digit) / base) {
      return false;
    }
    sum = sum * base + digit;
  }
  value = sum;
  return !text.empty();
}

}  // namespace tutti::detail::base
