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
  std::size_t to_next_column;

  [[nodiscard]] numbers column(std::size_t j) const {
    return {type, static_cast<std::byte const*>(first) + j * to_next_column * bytes_of(type), rows};
  }
  /// All numbers, with the gaps between columns.
  [[nodiscard]] numbers all() const {
    return {type, first, rows == 0 || columns == 0 ? 0 : (columns - 1) * to_next_column + rows};
  }
};

/// c = alpha op(a) op(b) + beta c: m x n sums of k products.
struct multiplication {
  std::size_t m, n, k;
  bool a_transposed, b_transposed;
  matrix_of_columns a, b, c;
  blend by;
  void* workspace;
  std::size_t workspace_bytes;

  void operator()() const {
    spoil(workspace, workspace_bytes);
    // c shares no memory with the factors, so it is spoilt before they are read.
    for (std::size_t j = 0; by.beta == 0 && j < n; ++j) {
      spoil(c.column(j).first, c.column(j).bytes());
    }
    std::vector<float> const made = sums();
    for (std::size_t j = 0; j < n; ++j) {
      store(made.data() + j * m, c.column(j), by);
    }
    spoil(workspace, workspace_bytes);
  }

 private:
  /// A factor without gaps, column-major: the stored matrix or its transpose.
  [[nodiscard]] static std::vector<float> factor(matrix_of_columns const& of, bool transposed) {
    std::vector<float> const lying = floats(of.all());
    std::vector<float> taken(of.rows * of.columns);
    for (std::size_t j = 0; j < of.columns; ++j) {
      for (std::size_t i = 0; i < of.rows; ++i) {
        taken[transposed ? i * of.columns + j : j * of.rows + i] = lying[j * of.to_next_column + i];
      }
    }
    return taken;
  }
  /// Multiplies the transposes in the other order: the columns here are rows there.
  [[nodiscard]] std::vector<float> sums() const {
    std::vector<float> const left = factor(a, a_transposed);
    std::vector<float> const right = factor(b, b_transposed);
    std::vector<float> made(m * n);
    add_product(n, m, k, {right.data(), k, 1}, {left.data(), m}, {made.data(), m});
    return made;
  }
};

}  // namespace tutti::emulated_gpu
