// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/detail/products/onednn.hpp>

#include <xtensor-blas/xblas.hpp>

#include <type_traits>

namespace tutti::inline v0_1_0::nn::detail::inline products {

enum class operand : bool { as_is, transpose };

/// Computes result = a b, or with either factor transposed, overwriting the result.
///
/// oneDNN multiplies float, if it has kernels, and BLAS the rest. xt::blas::gemm on row-major views passes the three
/// pointers to BLAS directly; xt::linalg::dot would return a new tensor, with an allocation and a copy in every call.
template <class T>
void product(matrix_view<T const> const& a, operand form_a, matrix_view<T const> const& b, operand form_b,
             matrix_view<T>& result) {
#if defined(__x86_64__)
  if constexpr (std::is_same_v<T, float>) {
    bool const transposes_a = form_a == operand::transpose;
    onednn_product(a.data(), transposes_a, b.data(), form_b == operand::transpose, result.data(), result.shape(0),
                   result.shape(1), a.shape(transposes_a ? 0 : 1));
    return;
  }
#endif
  xt::blas::gemm(a, b, result, form_a == operand::transpose, form_b == operand::transpose, T{1}, T{0});
}

}  // namespace tutti::nn::detail::products
