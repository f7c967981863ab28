// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace tutti::emulated_gpu {

/// A matrix with any distance between rows and between columns.
struct strided_matrix {
  float const* first;
  std::size_t to_next_row;
  std::size_t to_next_column;
};
/// A matrix with contiguous rows.
template <class Float>
struct matrix_of_rows {
  Float* first;
  std::size_t to_next_row;
};

namespace product_detail {

inline constexpr std::size_t depth = 256;  // length of partial sums, which are then added to the total
inline constexpr std::size_t tall = 4;     // height of a tile, whose sums stay in registers
inline constexpr std::size_t wide = 8;
/// A row of sums in a tile. GCC 12 makes slower code of a loop over floats.
using floats_of_tile [[gnu::vector_size(wide * sizeof(float))]] = float;
using panel = std::array<floats_of_tile, depth>;

/// Copies some columns of some rows and pads with zeros.
inline void fill(panel& to, matrix_of_rows<float const> from, std::size_t rows, std::size_t columns) {
  for (std::size_t k = 0; k < rows; ++k) {
    float row[wide] = {};
    std::copy(from.first + k * from.to_next_row, from.first + k * from.to_next_row + columns, row);
    std::memcpy(&to[k], row, sizeof row);
  }
}

/// Adds a tile's sums of `terms` products.
inline void add_tile(strided_matrix a, panel const& b, std::size_t terms, matrix_of_rows<float> c, std::size_t rows,
                     std::size_t columns) {
  floats_of_tile sums[tall] = {};
  float const* row[tall];
  for (std::size_t i = 0; i < tall; ++i) {
    row[i] = a.first + std::min(i, rows - 1) * a.to_next_row;
  }
  for (std::size_t k = 0; k < terms; ++k) {
    for (std::size_t i = 0; i < tall; ++i) {
      sums[i] += row[i][k * a.to_next_column] * b[k];
    }
  }
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      c.first[i * c.to_next_row + j] += sums[i][j];
    }
  }
}

}  // namespace product_detail

/// c += a b: rows x columns floats, sums of `terms` products. The order of a sum depends on `terms` only.
inline void add_product(std::size_t rows, std::size_t columns, std::size_t terms, strided_matrix a,
                        matrix_of_rows<float const> b, matrix_of_rows<float> c) {
  using namespace product_detail;
  panel part;
  for (std::size_t k = 0; k < terms; k += depth) {
    std::size_t const some = std::min(depth, terms - k);
    for (std::size_t j = 0; j < columns; j += wide) {
      std::size_t const across = std::min(wide, columns - j);
      fill(part, {b.first + k * b.to_next_row + j, b.to_next_row}, some, across);
      for (std::size_t i = 0; i < rows; i += tall) {
        add_tile({a.first + i * a.to_next_row + k * a.to_next_column, a.to_next_row, a.to_next_column}, part, some,
                 {c.first + i * c.to_next_row + j, c.to_next_row}, std::min(tall, rows - i), across);
      }
    }
  }
}

}  // namespace tutti::emulated_gpu
