// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace tutti::nn::detail {

/// Loops over the columns of a matrix with few of them are short, and short loops are slow. Its rows lie one after the
/// other, so several are taken as one: this many numbers at a time, if a row has fewer.
inline constexpr std::size_t line_numbers = 128;

/// Numbers of as many rows of so many columns as are taken at a time.
[[nodiscard]] constexpr std::size_t line_length(std::size_t columns) noexcept {
  return columns >= line_numbers ? columns : line_numbers / columns * columns;
}

/// Calls f(at, count) for each line of a matrix of so many numbers: where it begins, and its length, which is less for
/// the last one.
template <class F>
void for_each_line(std::size_t numbers, std::size_t columns, F const& f) {
  std::size_t const length = line_length(columns);
  for (std::size_t at = 0; at < numbers; at += length) {
    f(at, std::min(length, numbers - at));
  }
}

/// A number for each column, over and over as often as a line takes.
template <class T>
class repeated {
 public:
  repeated(T const* row, std::size_t columns) : data_(row) {
    if (std::size_t const length = line_length(columns); length != columns) {
      for (std::size_t at = 0; at != length; at += columns) {
        std::copy_n(row, columns, line_.data() + at);
      }
      data_ = line_.data();
    }
  }
  repeated(repeated const&) = delete;
  repeated& operator=(repeated const&) = delete;

  [[nodiscard]] T const* data() const noexcept { return data_; }

 private:
  T const* data_;
  std::array<T, line_numbers> line_;
};

/// Adds to each column what a line has for it.
template <class T>
void fold_line(T const* line, std::size_t columns, T* row) {
  for (std::size_t at = 0; at != line_length(columns); at += columns) {
    for (std::size_t c = 0; c != columns; ++c) {
      row[c] += line[at + c];
    }
  }
}

}  // namespace tutti::nn::detail
