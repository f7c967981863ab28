// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "product.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tutti::emulated_gpu {

/// The sizes of a convolution: images x (rows by columns by channels), filters w, and images y.
struct convolution {
  std::size_t images;
  std::size_t channels, rows, columns;               ///< size of x
  std::size_t filters, filter_rows, filter_columns;  ///< w has `filters` windows over one group's channels
  std::size_t made_rows, made_columns;               ///< size of y, which has `filters` channels
  std::size_t pad_rows, pad_columns;                 ///< zeros around x
  std::size_t row_stride, column_stride;
  std::size_t groups = 1;

  [[nodiscard]] std::size_t group_channels() const { return channels / groups; }
  [[nodiscard]] std::size_t group_filters() const { return filters / groups; }
  /// Numbers under a window, in one group.
  [[nodiscard]] std::size_t window() const { return filter_rows * filter_columns * group_channels(); }
  /// Positions of a window in an image, equal to the pixels of y.
  [[nodiscard]] std::size_t places() const { return made_rows * made_columns; }
  [[nodiscard]] std::size_t x_numbers() const { return images * rows * columns * channels; }
  [[nodiscard]] std::size_t w_numbers() const { return filters * window(); }
  [[nodiscard]] std::size_t y_numbers() const { return images * places() * filters; }
};

namespace convolution_detail {

/// Calls f(position, pixel of the window, pixel of an image) for each pixel of an image under each position of a
/// window. @param first the first position, which sets the order of sums in an image
template <class Function>
void each_under(convolution const& of, std::size_t first, Function const& f) {
  struct pixel {
    std::size_t number, row, column;
  };
  std::vector<pixel> window;
  for (std::size_t i = 0; i < of.filter_rows * of.filter_columns; ++i) {
    window.push_back({i, i / of.filter_columns, i % of.filter_columns});
  }
  for (std::size_t i = 0; i < of.places(); ++i) {
    std::size_t const place = (first + i) % of.places();
    std::size_t const top = place / of.made_columns * of.row_stride;
    std::size_t const left = place % of.made_columns * of.column_stride;
    for (pixel const& p : window) {
      std::size_t const row = top + p.row - of.pad_rows;  // rows above the image wrap to large numbers
      std::size_t const column = left + p.column - of.pad_columns;
      if (row < of.rows && column < of.columns) {
        f(place, p.number, row * of.columns + column);
      }
    }
  }
}

/// Copies the pixels under the windows in one group of an image: a row for each position.
inline void take_windows(convolution const& of, float const* image, std::size_t group, std::vector<float>& to) {
  to.assign(of.places() * of.window(), 0);
  std::size_t const some = of.group_channels();
  each_under(of, 0, [&](std::size_t place, std::size_t pixel, std::size_t at) {
    float const* const from = image + at * of.channels + group * some;
    std::copy(from, from + some, to.data() + place * of.window() + pixel * some);
  });
}

/// Adds a row for each position to the pixels under the windows.
inline void give_windows(convolution const& of, std::vector<float> const& from, std::size_t group, std::size_t first,
                         float* image) {
  std::size_t const some = of.group_channels();
  each_under(of, first, [&](std::size_t place, std::size_t pixel, std::size_t at) {
    float const* const row = from.data() + place * of.window() + pixel * some;
    float* const to = image + at * of.channels + group * some;
    for (std::size_t c = 0; c < some; ++c) {
      to[c] += row[c];
    }
  });
}

/// Transposes each group's filters.
[[nodiscard]] inline std::vector<float> transposed(std::vector<float> const& m, std::size_t matrices, std::size_t rows,
                                                   std::size_t columns) {
  std::vector<float> made(m.size());
  for (std::size_t g = 0; g < matrices; ++g) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        made[(g * columns + j) * rows + i] = m[(g * rows + i) * columns + j];
      }
    }
  }
  return made;
}

}  // namespace convolution_detail

/// Computes y from x and w.
[[nodiscard]] inline std::vector<float> convolve(convolution const& of, std::vector<float> const& x,
                                                 std::vector<float> const& w) {
  using namespace convolution_detail;
  std::size_t const filters = of.group_filters();
  std::vector<float> const down = transposed(w, of.groups, filters, of.window());
  std::vector<float> y(of.y_numbers());
  std::vector<float> windows;
  for (std::size_t image = 0; image < of.images; ++image) {
    for (std::size_t g = 0; g < of.groups; ++g) {
      take_windows(of, x.data() + image * of.rows * of.columns * of.channels, g, windows);
      add_product(of.places(), filters, of.window(), {windows.data(), of.window(), 1},
                  {down.data() + g * of.window() * filters, filters},
                  {y.data() + image * of.places() * of.filters + g * filters, of.filters});
    }
  }
  return y;
}

/// Computes the gradients of w from x and the gradients of y. @param turn the first image in sums
[[nodiscard]] inline std::vector<float> convolve_to_filters(convolution const& of, std::vector<float> const& x,
                                                            std::vector<float> const& dy, std::size_t turn) {
  using namespace convolution_detail;
  std::size_t const filters = of.group_filters();
  std::vector<float> down(of.w_numbers());
  std::vector<float> windows;
  for (std::size_t i = 0; i < of.images; ++i) {
    std::size_t const image = (turn + i) % of.images;
    for (std::size_t g = 0; g < of.groups; ++g) {
      take_windows(of, x.data() + image * of.rows * of.columns * of.channels, g, windows);
      add_product(of.window(), filters, of.places(), {windows.data(), 1, of.window()},
                  {dy.data() + image * of.places() * of.filters + g * filters, of.filters},
                  {down.data() + g * of.window() * filters, filters});
    }
  }
  return transposed(down, of.groups, of.window(), filters);
}

/// Computes the gradients of x from w and the gradients of y. @param turn the first position of a window in sums
[[nodiscard]] inline std::vector<float> convolve_to_images(convolution const& of, std::vector<float> const& w,
                                                           std::vector<float> const& dy, std::size_t turn) {
  using namespace convolution_detail;
  std::size_t const filters = of.group_filters();
  std::vector<float> dx(of.x_numbers());
  std::vector<float> windows;
  for (std::size_t image = 0; image < of.images; ++image) {
    for (std::size_t g = 0; g < of.groups; ++g) {
      windows.assign(of.places() * of.window(), 0);
      add_product(of.places(), of.window(), filters,
                  {dy.data() + image * of.places() * of.filters + g * filters, of.filters, 1},
                  {w.data() + g * filters * of.window(), of.window()}, {windows.data(), of.window()});
      give_windows(of, windows, g, turn, dx.data() + image * of.rows * of.columns * of.channels);
    }
  }
  return dx;
}

}  // namespace tutti::emulated_gpu
