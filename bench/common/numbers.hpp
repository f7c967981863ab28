// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace bench {

// Numbers of command lines. A word must be a number as a whole, or it is refused: the heading of a table is what was
// computed. bench/comparison/command_line.py reads rates alike.

namespace detail {

[[noreturn]] inline void refuse(std::string const& name, std::string_view word, std::string const& expected) {
  throw std::runtime_error(name + "=" + std::string(word) + ": " + expected + " is expected");
}

/// A real number in digits, such as 2.5, without a sign or an exponent.
[[nodiscard]] inline bool read_real(std::string_view word, double& value) {
  auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, std::chars_format::fixed);
  return error == std::errc{} && end == word.data() + word.size() && word.find_first_not_of("0123456789.") == word.npos;
}

/// A real number above 0, and a unit.
[[nodiscard]] inline bool read_rate(std::string_view word, double& value) {
  constexpr std::string_view units = "kMG";
  auto const unit = word.empty() ? units.npos : units.find(word.back());
  if (unit == units.npos || !read_real(word.substr(0, word.size() - 1), value) || !(value > 0)) {
    return false;
  }
  value *= std::pow(1000.0, static_cast<double>(unit + 1));
  return true;
}

}  // namespace detail

/// @throws std::runtime_error that names the setting, if the word is no whole number or less than `least`
[[nodiscard]] inline std::size_t whole(std::string const& name, std::string_view word, std::size_t least = 0) {
  std::size_t value = 0;
  auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value < least) {
    detail::refuse(name, word, "a whole number" + (least == 0 ? "" : " of at least " + std::to_string(least)));
  }
  return value;
}

/// Reads a list, such as 8,16,32; each number as by `whole`.
[[nodiscard]] inline std::vector<std::size_t> wholes(std::string const& name, std::string_view words,
                                                     std::size_t least = 0) {
  std::vector<std::size_t> numbers;
  for (std::size_t begin = 0; begin <= words.size();) {
    std::size_t const end = std::min(words.find(',', begin), words.size());
    numbers.push_back(whole(name, words.substr(begin, end - begin), least));
    begin = end + 1;
  }
  return numbers;
}

/// @throws std::runtime_error if the word is no number in digits, such as 0.25
[[nodiscard]] inline double real(std::string const& name, std::string_view word) {
  double value = 0;
  if (!detail::read_real(word, value)) {
    detail::refuse(name, word, "a number such as 0.25");
  }
  return value;
}

/// Bits a second: a number above 0 and its unit, k, M or G of 1000: 2.5G, 200M, 400k.
/// @throws std::runtime_error if the word is none
[[nodiscard]] inline double bits_per_second(std::string const& name, std::string_view word) {
  double value = 0;
  if (!detail::read_rate(word, value)) {
    detail::refuse(name, word, "a rate in bits a second above 0 with its unit, such as 2.5G, 200M or 400k,");
  }
  return value;
}

/// Rates of the links of hosts 0, 1, ..., separated by /. The last one holds for all further hosts: 10G/3.5G.
/// @throws std::runtime_error if a word between them is no rate
[[nodiscard]] inline std::vector<double> rates(std::string const& name, std::string_view words) {
  std::vector<double> result;
  for (std::size_t begin = 0; begin <= words.size();) {
    std::size_t const end = std::min(words.find('/', begin), words.size());
    result.push_back(0);
    if (!detail::read_rate(words.substr(begin, end - begin), result.back())) {
      detail::refuse(name, words, "rates with their units, such as 2.5G or 10G/3.5G,");
    }
    begin = end + 1;
  }
  return result;
}

}  // namespace bench
