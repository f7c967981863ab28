// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>

#if __has_include(<xtensor/containers/xtensor.hpp>)  // since xtensor 0.26
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xtensor.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xtensor.hpp>
#endif

#include <cstddef>
#include <memory>
#include <type_traits>

namespace tutti::inline v0_1_0::nn {

/// A matrix that owns its elements. A row is a sample, a column a feature; rows are contiguous.
template <class T>
using matrix = xt::xtensor<T, 2, xt::layout_type::row_major>;

/// A matrix in memory that it does not own: a layer's weights inside the vector of all weights, the first rows of a
/// larger matrix. Construction costs a few words and no allocation.
template <class T>
using matrix_view =
    xt::xtensor_adaptor<xt::xbuffer_adaptor<T*, xt::no_ownership, std::allocator<std::remove_const_t<T>>>, 2,
                        xt::layout_type::row_major>;

/// A view of the matrix at `data`, row after row.
template <class T>
[[nodiscard]] matrix_view<T> view(T* data, std::size_t rows, std::size_t columns) {
  using result = matrix_view<T>;
  return result(typename result::storage_type(data, rows * columns), typename result::inner_shape_type{rows, columns});
}

/// The first `rows` rows of a matrix.
/// @pre the matrix has that many
template <class T>
[[nodiscard]] matrix_view<T> first_rows(matrix<T>& m, std::size_t rows) {
  expects(rows <= m.shape(0), "first_rows: take at most all rows of the matrix, ", m.shape(0), ", not ", rows);
  return view<T>(m.data(), rows, m.shape(1));
}

/// A view of the same elements for reading.
template <class T>
[[nodiscard]] matrix_view<T const> read_only(matrix_view<T> const& m) {
  return view<T const>(m.data(), m.shape(0), m.shape(1));
}

}  // namespace tutti::nn
