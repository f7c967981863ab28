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
  std::size_t row_stride;
  std::size_t column_stride;
};
/// A matrix with contiguous rows.
template <class Float>
struct matrix_of_rows {
  Float* first;
  std::size_t row_stride;
};

namespace product_detail {

inline constexpr std::size_t depth = 256;      // length of partial sums, which are then added to the total
inline constexpr std::size_t tile_height = 4;  // height of a tile, whose sums stay in registers
inline constexpr std::size_t tile_width = 8;
/// A row of sums in a tile. GCC 12 makes slower code of a loop over floats.
using floats_of_tile [[gnu::vector_size(tile_width * sizeof(float))]] = float;
using panel = std::array<floats_of_tile, depth>;

/// Copies some columns of some rows and pads with zeros.
inline void fill(panel& destination, matrix_of_rows<float const> source, std::size_t rows, std::size_t columns) {
  for (std::size_t k = 0; k < rows; ++k) {
    float row[tile_width] = {};
    std::copy(source.first + k * source.row_stride, source.first + k * source.row_stride + columns, row);
    std::memcpy(&destination[k], row, sizeof row);
  }
}

/// Adds a tile's sums of `terms` products.
inline void add_tile(strided_matrix a, panel const& b, std::size_t terms, matrix_of_rows<float> c, std::size_t rows,
                     std::size_t columns) {
  floats_of_tile sums[tile_height] = {};
  float const* row[tile_height];
  for (std::size_t i = 0; i < tile_height; ++i) {
    row[i] = a.first + std::min(i, rows - 1) * a.row_stride;
  }
  for (std::size_t k = 0; k < terms; ++k) {
    for (std::size_t i = 0; i < tile_height; ++i) {
      sums[i] += row[i][k * a.column_stride] * b[k];
    }
  }
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      c.first[i * c.row_stride + j] += sums[i][j];
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
    std::size_t const part_terms = std::min(depth, terms - k);
    for (std::size_t j = 0; j < columns; j += tile_width) {
      std::size_t const width = std::min(tile_width, columns - j);
      fill(part, {b.first + k * b.row_stride + j, b.row_stride}, part_terms, width);
      for (std::size_t i = 0; i < rows; i += tile_height) {
        add_tile({a.first + i * a.row_stride + k * a.column_stride, a.row_stride, a.column_stride}, part, part_terms,
                 {c.first + i * c.row_stride + j, c.row_stride}, std::min(tile_height, rows - i), width);
      }
    }
  }
}

}  // namespace tutti::emulated_gpu
