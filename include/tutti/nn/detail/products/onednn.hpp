// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>

#include <cstddef>
#include <dnnl.h>

namespace tutti::inline v0_1_0::nn::detail::inline products {

/// Computes c = a b of contiguous row-major matrices, or with either factor transposed, by oneDNN: for the shapes of
/// layers about a tenth faster than OpenBLAS (docs/trainer/training-speed.md). c has a row for each row of the first
/// factor after transposition.
inline void onednn_product(float const* a, bool transpose_a, float const* b, bool transpose_b, float* c,
                           std::size_t rows, std::size_t columns, std::size_t inner) {
  auto const m = static_cast<dnnl_dim_t>(rows);
  auto const n = static_cast<dnnl_dim_t>(columns);
  auto const k = static_cast<dnnl_dim_t>(inner);
  [[maybe_unused]] dnnl_status_t const status =
      dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0F, a, transpose_a ? m : k, b,
                 transpose_b ? k : n, 0.0F, c, n);
  expects(status == dnnl_success, "product: oneDNN refuses matrices of ", rows, " x ", inner, " and ", inner, " x ",
          columns, " numbers; each side must be 1 or more");
}

}  // namespace tutti::nn::detail::products
