// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline base {

// Conversion of numbers from and to text, independent of the locale. A program may call setlocale or
// std::locale::global at any time; then printf, strtod and streams write and read commas.

/// The number with `places` digits after the point: printf's "%.*f" in the C locale.
[[nodiscard, gnu::cold]] TUTTI_DECL std::string fixed_text(double value, int places);

/// The number with at most `digits` digits: printf's "%.*g" in the C locale.
[[nodiscard, gnu::cold]] TUTTI_DECL std::string general_text(double value, int digits = 6);

/// True if the whole text is digits of a number up to `limit`, which is then in `value`.
[[nodiscard, gnu::cold]] TUTTI_DECL bool read_digits(std::string_view text, unsigned base, std::uint64_t limit,
                                                     std::uint64_t& value) noexcept;

/// True if the whole text is a number that fits `value`, which then holds it.
template <std::integral Number>
[[nodiscard]] bool read_number(std::string_view text, Number& value, unsigned base = 10) noexcept {
  bool const negative = std::signed_integral<Number> && text.starts_with('-');
  std::uint64_t digits = 0;
  if (!read_digits(text.substr(negative ? 1 : 0), base,
                   static_cast<std::uint64_t>((std::numeric_limits<Number>::max)()) + (negative ? 1U : 0U), digits)) {
    return false;
  }
  value = static_cast<Number>(negative ? 0 - digits : digits);
  return true;
}

/// Reads words and integers that are separated by single spaces.
class word_reader {
 public:
  /// @pre the text outlives the reader
  explicit word_reader(std::string_view text) noexcept : rest_(text) {}

  /// The next word; empty if there is none.
  std::string_view word() noexcept {
    std::string_view const next = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(next.size() == rest_.size() ? next.size() : next.size() + 1);
    return next;
  }
  /// The next word as a number; 0, with `good()` false, if it is none or does not fit.
  template <std::integral Number>
  Number number() noexcept {
    Number value{};
    good_ = read_number(word(), value) && good_;
    return value;
  }

  /// True if every requested number was there.
  [[nodiscard]] bool good() const noexcept { return good_; }
  /// True if nothing is left.
  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace tutti::detail::base

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/base/number_text.ipp>
#endif
