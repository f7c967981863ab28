// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/layer/line.hpp>
#include <tutti/nn/vectorised.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace tutti::nn::detail {

/// y = activation(y + bias), for each of `rows` rows of `columns` numbers.
template <class Activation, class T>
void add_bias(T* y, std::size_t rows, std::size_t columns, T const* bias) {
  repeated<T> const line(bias, columns);
  vectorised([&] {
    for_each_line(rows * columns, columns, [&, b = line.data()](std::size_t at, std::size_t count) {
      T* const to = y + at;
      for (std::size_t i = 0; i != count; ++i) {
        to[i] = Activation::value(to[i] + b[i]);
      }
    });
  });
}

/// dy = dy times the slope of the activation that made y; writes the sums of its columns.
template <class Activation, class T>
void differentiate_bias(T const* y, T* dy, std::size_t rows, std::size_t columns, T* bias) {
  std::fill_n(bias, columns, T{0});
  std::array<T, line_numbers> line{};
  bool const whole_rows = line_length(columns) == columns;
  vectorised([&, sums = whole_rows ? bias : line.data()] {
    for_each_line(rows * columns, columns, [&](std::size_t at, std::size_t count) {
      T const* const value = y + at;
      T* const slope = dy + at;
      for (std::size_t i = 0; i != count; ++i) {
        slope[i] *= Activation::slope(value[i]);
        sums[i] += slope[i];
      }
    });
  });
  if (!whole_rows) {
    fold_line(line.data(), columns, bias);
  }
}

}  // namespace tutti::nn::detail
