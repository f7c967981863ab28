// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/expects.hpp>
#include <tutti/nn/product/onednn.hpp>

#include <xtensor-blas/xblas.hpp>
#include <xtensor/xadapt.hpp>
#include <xtensor/xtensor.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>

namespace tutti::nn {

/// A matrix that owns its elements. A row is a sample, a column a feature; rows are contiguous.
template <class T>
using matrix = xt::xtensor<T, 2, xt::layout_type::row_major>;

/// A matrix in somebody else's memory: a layer's weights inside the vector of all weights, the first
/// rows of a larger matrix. Building one costs a few words and no allocation.
template <class T>
using matrix_view =
    xt::xtensor_adaptor<xt::xbuffer_adaptor<T*, xt::no_ownership, std::allocator<std::remove_const_t<T>>>, 2,
                        xt::layout_type::row_major>;

template <class T>
[[nodiscard]] matrix_view<T> view(T* data, std::size_t rows, std::size_t columns) {
  using result = matrix_view<T>;
  return result(typename result::storage_type(data, rows * columns), typename result::inner_shape_type{rows, columns});
}

/// The first `rows` rows of a matrix.
/// @pre the matrix has that many
template <class T>
[[nodiscard]] matrix_view<T> first_rows(matrix<T>& m, std::size_t rows) {
  expects(rows <= m.shape(0), "first_rows: the matrix has fewer rows");
  return view<T>(m.data(), rows, m.shape(1));
}

/// The same elements, read only.
template <class T>
[[nodiscard]] matrix_view<T const> read_only(matrix_view<T> const& m) {
  return view<T const>(m.data(), m.shape(0), m.shape(1));
}

enum class operand : bool { as_is, transposed };

/// result = a b, or with either factor transposed, overwriting the result.
///
/// oneDNN multiplies float, where it has kernels, and BLAS the rest. xt::blas::gemm on row-major views hands the three
/// pointers to BLAS as they are. xt::linalg::dot would return its result in a new tensor: an allocation and a copy at
/// every call.
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

}  // namespace tutti::nn
