// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/detail/products/onednn.hpp>

#include <xtensor-blas/xblas.hpp>

#include <type_traits>

namespace tutti::inline v0_1_0::nn::detail::inline products {

enum class operand : bool { as_is, transposed };

/// Computes result = a b, or with either factor transposed, overwriting the result.
///
/// oneDNN multiplies float, if it has kernels, and BLAS the rest. xt::blas::gemm on row-major views passes the three
/// pointers to BLAS directly; xt::linalg::dot would return a new tensor, with an allocation and a copy in every call.
template <class T>
void product(matrix_view<T const> const& a, operand how_a, matrix_view<T const> const& b, operand how_b,
             matrix_view<T>& result) {
#if defined(__x86_64__)
  if constexpr (std::is_same_v<T, float>) {
    bool const across = how_a == operand::transposed;
    onednn_product(a.data(), across, b.data(), how_b == operand::transposed, result.data(), result.shape(0),
                   result.shape(1), a.shape(across ? 0 : 1));
    return;
  }
#endif
  xt::blas::gemm(a, b, result, how_a == operand::transposed, how_b == operand::transposed, T{1}, T{0});
}

}  // namespace tutti::nn::detail::products
