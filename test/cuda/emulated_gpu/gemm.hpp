// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "numbers.hpp"
#include "product.hpp"

#include <cstddef>
#include <vector>

namespace tutti::emulated_gpu {

/// A column-major matrix in device memory.
struct matrix_of_columns {
  number type;
  void const* first;
  std::size_t rows;
  std::size_t columns;
  std::size_t column_stride;

  [[nodiscard]] numbers column(std::size_t j) const {
    return {type, static_cast<std::byte const*>(first) + j * column_stride * bytes_of(type), rows};
  }
  /// All numbers, with the gaps between columns.
  [[nodiscard]] numbers storage() const {
    return {type, first, rows == 0 || columns == 0 ? 0 : (columns - 1) * column_stride + rows};
  }
};

/// c = alpha op(a) op(b) + beta c: m x n sums of k products.
struct multiplication {
  std::size_t m, n, k;
  bool a_transposed, b_transposed;
  matrix_of_columns a, b, c;
  blend factors;
  void* workspace;
  std::size_t workspace_bytes;

  void operator()() const {
    poison(workspace, workspace_bytes);
    // c shares no memory with the factors, so it is poisoned before they are read.
    for (std::size_t j = 0; factors.beta == 0 && j < n; ++j) {
      poison(c.column(j).first, c.column(j).bytes());
    }
    std::vector<float> const result = sums();
    for (std::size_t j = 0; j < n; ++j) {
      store(result.data() + j * m, c.column(j), factors);
    }
    poison(workspace, workspace_bytes);
  }

 private:
  /// A factor without gaps, column-major: the stored matrix or its transpose.
  [[nodiscard]] static std::vector<float> factor(matrix_of_columns const& matrix, bool is_transposed) {
    std::vector<float> const elements = floats(matrix.storage());
    std::vector<float> result(matrix.rows * matrix.columns);
    for (std::size_t j = 0; j < matrix.columns; ++j) {
      for (std::size_t i = 0; i < matrix.rows; ++i) {
        result[is_transposed ? i * matrix.columns + j : j * matrix.rows + i] = elements[j * matrix.column_stride + i];
      }
    }
    return result;
  }
  /// Multiplies the transposes in the other order: the columns here are rows there.
  [[nodiscard]] std::vector<float> sums() const {
    std::vector<float> const left = factor(a, a_transposed);
    std::vector<float> const right = factor(b, b_transposed);
    std::vector<float> result(m * n);
    add_product(n, m, k, {right.data(), k, 1}, {left.data(), m}, {result.data(), m});
    return result;
  }
};

}  // namespace tutti::emulated_gpu
