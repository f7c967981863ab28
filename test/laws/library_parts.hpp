// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/parts.hpp>

#include <xtensor/xadapt.hpp>
#include <xtensor/xview.hpp>

#include <Eigen/Core>
#include <array>

namespace laws {

/// Tensors, matrices and views of other libraries, with the interface of plain_parts. Eigen's are tested with complex
/// numbers only.
struct library_parts {
  template <class T, class Use>
  static void whole(dice& local_dice, room<T> const& r, Use use) {
    std::span<T> const part = r.part();
    std::size_t const columns = some_columns(local_dice, part.size(), room<T>::margin);
    std::size_t const rows = part.size() / columns;
    T* const row_before = part.data() - columns;
    switch (local_dice.draw_below(tutti::complex_number<T> ? 7 : 4)) {
      case 0:
        return use(tensor(part.data(), rows, columns));
      case 1:
        return use(xt::view(tensor(part.data(), 1, part.size()), 0));
      case 2:
        return use(xt::view(tensor(row_before, rows + 2, columns), xt::range(std::size_t{1}, rows + 1), xt::all()));
      case 3:
        return use(xt::view(tensor(r.guarded_memory().data(), 1, r.guarded_memory().size()), xt::range(0, 1),
                            xt::range(room<T>::margin, room<T>::margin + part.size())));
      default:
        // Column-major: indices and extents of rows and columns are swapped.
        if constexpr (tutti::complex_number<T>) {
          auto surrounding = matrix<T>(row_before, index(columns), index(rows + 2), strides(index(columns)));
          switch (local_dice.draw_below(3)) {
            case 0:
              return use(surrounding.middleCols(1, index(rows)));
            case 1:
              return use(surrounding.block(0, 1, index(columns), index(rows)));
            default:
              return use(matrix<T>(part.data(), index(columns), index(rows), strides(index(columns))));
          }
        }
    }
  }

  template <class T, class Use>
  static void with_gaps(dice& local_dice, room<T> const& r, Use use) {
    std::size_t const columns = 2 + local_dice.draw_below(8);
    std::size_t const rows = 2 + local_dice.draw_below(4);
    T* const first = r.guarded_memory().data() + local_dice.draw_below(2 * room<T>::margin - rows * columns + 1);
    switch (local_dice.draw_below(tutti::complex_number<T> ? 4 : 2)) {
      case 0:
        return use(xt::view(tensor(first, rows, columns), xt::all(), local_dice.draw_below(columns)));
      case 1:
        return use(xt::view(tensor(first, rows, columns), xt::range(std::size_t{0}, rows),
                            xt::range(std::size_t{1}, columns)));
      default:
        if constexpr (tutti::complex_number<T>) {
          auto surrounding = matrix<T>(first, index(columns), index(rows), strides(index(columns)));
          return local_dice.one_in(2) ? use(surrounding.block(1, 0, index(columns) - 1, index(rows)))
                                      : use(matrix<T>(first, index(columns) - 1, index(rows), strides(index(columns))));
        }
    }
  }

 private:
  template <class T>
  [[nodiscard]] static auto tensor(T* first, std::size_t rows, std::size_t columns) {
    return xt::adapt(first, rows * columns, xt::no_ownership(), std::array{rows, columns});
  }

  using strides = Eigen::OuterStride<>;
  template <class T>
  using matrix = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>, Eigen::Unaligned, strides>;

  [[nodiscard]] static Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }
};

}  // namespace laws
