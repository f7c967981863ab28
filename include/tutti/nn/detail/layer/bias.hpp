// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/layer/line.hpp>
#include <tutti/nn/detail/numbers/loops.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace tutti::inline v0_1_0::nn::detail::inline layer {

/// Computes y = activation(y + bias), for each of `rows` rows of `columns` values.
template <class Activation, class T>
void add_bias(T* y, std::size_t rows, std::size_t columns, T const* bias) {
  repeated_row<T> const line(bias, columns);
  for_each_line(rows * columns, columns, [=, b = line.data()](std::size_t at, std::size_t count) {
    T* const values = y + at;
    for (std::size_t i = 0; i != count; ++i) {
      values[i] = Activation::value(values[i] + b[i]);
    }
  });
}

/// Multiplies dy by the derivative of the activation, computed from y, and writes the sums of its columns. Threads
/// divide the columns or, if these are few, the rows.
template <class Activation, class T>
void differentiate_bias(T const* y, T* dy, std::size_t rows, std::size_t columns, T* bias) {
  auto const add = [](T const* value, T* slope, std::size_t count, T* sums) {
    for (std::size_t i = 0; i != count; ++i) {
      slope[i] *= Activation::derivative(value[i]);
      sums[i] += slope[i];
    }
  };
  if (columns >= line_numbers) {
    parallel_for(columns, numbers_for_a_thread / rows + 1, [=](std::size_t first, std::size_t last) {
      std::fill(bias + first, bias + last, T{0});
      vectorise([=] {
        for (std::size_t at = first; at < rows * columns; at += columns) {
          add(y + at, dy + at, last - first, bias + first);
        }
      });
    });
  } else {
    constexpr std::size_t most_runs = 32;
    std::array<T, most_runs * line_numbers> partial_sums;
    std::size_t const run = runs_of_lines(rows * columns, columns, most_runs);
    sum_lines<1>(rows * columns, columns, run, partial_sums.data(), bias,
                 [=](std::size_t at, std::size_t count, T* partial) { add(y + at, dy + at, count, partial); });
  }
}

}  // namespace tutti::nn::detail::layer
