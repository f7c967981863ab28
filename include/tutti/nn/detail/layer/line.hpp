// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/numbers/loops.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace tutti::inline v0_1_0::nn::detail::inline layer {

/// The largest length of a line of several rows. Loops over few columns of a matrix would be short and slow; its rows
/// are contiguous, so several short rows are treated as one line.
inline constexpr std::size_t line_numbers = 128;

/// The number of values of a line: as many rows as fit, each of this many columns.
[[nodiscard]] constexpr std::size_t line_length(std::size_t columns) noexcept {
  return columns >= line_numbers ? columns : line_numbers / columns * columns;
}

/// Calls f(at, count) for each line of a matrix of this many values, with its beginning and its length, which is
/// shorter for the last one. Several threads divide the lines, and f is also compiled for AVX2.
template <class F>
void for_each_line(std::size_t numbers, std::size_t columns, F const& f) {
  std::size_t const length = line_length(columns);
  std::size_t const lines = (numbers + length - 1) / length;
  parallel_for(lines, numbers_for_a_thread / length + 1, [=, &f](std::size_t first, std::size_t last) {
    vectorise([=, &f] {
      for (std::size_t at = first * length; at < (std::min)(last * length, numbers); at += length) {
        f(at, (std::min)(length, numbers - at));
      }
    });
  });
}

/// A line with a value for each column, repeated.
template <class T>
class repeated_row {
 public:
  repeated_row(T const* row, std::size_t columns) : data_(row) {
    if (std::size_t const length = line_length(columns); length != columns) {
      for (std::size_t at = 0; at != length; at += columns) {
        std::copy_n(row, columns, line_.data() + at);
      }
      data_ = line_.data();
    }
  }
  repeated_row(repeated_row const&) = delete;
  repeated_row& operator=(repeated_row const&) = delete;

  [[nodiscard]] T const* data() const noexcept { return data_; }

 private:
  T const* data_;
  std::array<T, line_numbers> line_;
};

/// Adds the values of a line to their columns.
template <class T>
void fold_line(T const* line, std::size_t columns, T* row) {
  for (std::size_t at = 0; at != line_length(columns); at += columns) {
    for (std::size_t c = 0; c != columns; ++c) {
      row[c] += line[at + c];
    }
  }
}

/// The number of runs of `run` lines in a matrix.
[[nodiscard]] constexpr std::size_t runs_of_lines(std::size_t numbers, std::size_t columns, std::size_t run) noexcept {
  std::size_t const length = run * line_length(columns);
  return (numbers + length - 1) / length;
}

/// Computes `Sums` sums of each column of a matrix; sums of one kind are beside each other. f(at, count, partial)
/// adds the line at `at` to `partial`, which has a line for each kind. Each run of lines is summed separately, in
/// `partial_sums`, which has `Sums` lines for each run; then the runs are added in order. So precision does not suffer,
/// and the result is independent of the number of threads.
template <std::size_t Sums, class T, class F>
void sum_lines(std::size_t numbers, std::size_t columns, std::size_t run, T* partial_sums, T* sums, F const& f) {
  std::size_t const length = line_length(columns);
  std::size_t const runs = runs_of_lines(numbers, columns, run);
  parallel_for(runs, numbers_for_a_thread / (run * length) + 1, [=, &f](std::size_t first, std::size_t last) {
    std::fill_n(partial_sums + first * Sums * length, (last - first) * Sums * length, T{0});
    vectorise([=, &f] {
      for (std::size_t at = first * run * length; at < (std::min)(last * run * length, numbers); at += length) {
        f(at, (std::min)(length, numbers - at), partial_sums + at / (run * length) * Sums * length);
      }
    });
  });
  std::fill_n(sums, Sums * columns, T{0});
  for (std::size_t i = 0; i != runs * Sums; ++i) {
    fold_line(partial_sums + i * length, columns, sums + i % Sums * columns);
  }
}

}  // namespace tutti::nn::detail::layer
