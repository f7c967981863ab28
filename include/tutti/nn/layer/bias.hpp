// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

namespace tutti::nn::detail {

/// y = activation(y + bias), for each of `rows` rows of `columns` numbers.
template <class Activation, class T>
void add_bias(T* y, std::size_t rows, std::size_t columns, T const* bias) {
  for (std::size_t r = 0; r != rows; ++r, y += columns) {
    for (std::size_t c = 0; c != columns; ++c) {
      y[c] = Activation::value(y[c] + bias[c]);
    }
  }
}

/// dy = dy times the slope of the activation that made y; writes the sums of its columns.
template <class Activation, class T>
void differentiate_bias(T const* y, T* dy, std::size_t rows, std::size_t columns, T* bias) {
  std::fill_n(bias, columns, T{0});
  for (std::size_t r = 0; r != rows; ++r, y += columns, dy += columns) {
    for (std::size_t c = 0; c != columns; ++c) {
      dy[c] *= Activation::slope(y[c]);
      bias[c] += dy[c];
    }
  }
}

}  // namespace tutti::nn::detail
