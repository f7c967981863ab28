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
  std::size_t output_rows, output_columns;           ///< size of y, which has `filters` channels
  std::size_t pad_rows, pad_columns;                 ///< zeros around x
  std::size_t row_stride, column_stride;
  std::size_t groups = 1;

  [[nodiscard]] std::size_t group_channels() const { return channels / groups; }
  [[nodiscard]] std::size_t group_filters() const { return filters / groups; }
  /// Numbers under a window, in one group.
  [[nodiscard]] std::size_t window() const { return filter_rows * filter_columns * group_channels(); }
  /// Positions of a window in an image, equal to the pixels of y.
  [[nodiscard]] std::size_t positions() const { return output_rows * output_columns; }
  [[nodiscard]] std::size_t x_numbers() const { return images * rows * columns * channels; }
  [[nodiscard]] std::size_t w_numbers() const { return filters * window(); }
  [[nodiscard]] std::size_t y_numbers() const { return images * positions() * filters; }
};

namespace convolution_detail {

/// Calls f(position, pixel of the window, pixel of an image) for each pixel of an image under each position of a
/// window. @param first the first position, which sets the order of sums in an image
template <class Function>
void for_each_pixel(convolution const& sizes, std::size_t first, Function const& f) {
  struct pixel {
    std::size_t number, row, column;
  };
  std::vector<pixel> window;
  for (std::size_t i = 0; i < sizes.filter_rows * sizes.filter_columns; ++i) {
    window.push_back({i, i / sizes.filter_columns, i % sizes.filter_columns});
  }
  for (std::size_t i = 0; i < sizes.positions(); ++i) {
    std::size_t const position = (first + i) % sizes.positions();
    std::size_t const top = position / sizes.output_columns * sizes.row_stride;
    std::size_t const left = position % sizes.output_columns * sizes.column_stride;
    for (pixel const& p : window) {
      std::size_t const row = top + p.row - sizes.pad_rows;  // rows above the image wrap to large numbers
      std::size_t const column = left + p.column - sizes.pad_columns;
      if (row < sizes.rows && column < sizes.columns) {
        f(position, p.number, row * sizes.columns + column);
      }
    }
  }
}

/// Copies the pixels under the windows in one group of an image: a row for each position.
inline void gather_windows(convolution const& sizes, float const* image, std::size_t group,
                           std::vector<float>& windows) {
  windows.assign(sizes.positions() * sizes.window(), 0);
  std::size_t const channels = sizes.group_channels();
  for_each_pixel(sizes, 0, [&](std::size_t position, std::size_t window_pixel, std::size_t image_pixel) {
    float const* const pixels = image + image_pixel * sizes.channels + group * channels;
    std::copy(pixels, pixels + channels, windows.data() + position * sizes.window() + window_pixel * channels);
  });
}

/// Adds a row for each position to the pixels under the windows.
inline void scatter_windows(convolution const& sizes, std::vector<float> const& windows, std::size_t group,
                            std::size_t first, float* image) {
  std::size_t const channels = sizes.group_channels();
  for_each_pixel(sizes, first, [&](std::size_t position, std::size_t window_pixel, std::size_t image_pixel) {
    float const* const row = windows.data() + position * sizes.window() + window_pixel * channels;
    float* const pixels = image + image_pixel * sizes.channels + group * channels;
    for (std::size_t c = 0; c < channels; ++c) {
      pixels[c] += row[c];
    }
  });
}

/// Transposes each group's filters.
[[nodiscard]] inline std::vector<float> transpose(std::vector<float> const& m, std::size_t matrices, std::size_t rows,
                                                  std::size_t columns) {
  std::vector<float> result(m.size());
  for (std::size_t g = 0; g < matrices; ++g) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        result[(g * columns + j) * rows + i] = m[(g * rows + i) * columns + j];
      }
    }
  }
  return result;
}

}  // namespace convolution_detail

/// Computes y from x and w.
[[nodiscard]] inline std::vector<float> convolve(convolution const& sizes, std::vector<float> const& x,
                                                 std::vector<float> const& w) {
  using namespace convolution_detail;
  std::size_t const filters = sizes.group_filters();
  std::vector<float> const w_transpose = transpose(w, sizes.groups, filters, sizes.window());
  std::vector<float> y(sizes.y_numbers());
  std::vector<float> windows;
  for (std::size_t image = 0; image < sizes.images; ++image) {
    for (std::size_t g = 0; g < sizes.groups; ++g) {
      gather_windows(sizes, x.data() + image * sizes.rows * sizes.columns * sizes.channels, g, windows);
      add_product(sizes.positions(), filters, sizes.window(), {windows.data(), sizes.window(), 1},
                  {w_transpose.data() + g * sizes.window() * filters, filters},
                  {y.data() + image * sizes.positions() * sizes.filters + g * filters, sizes.filters});
    }
  }
  return y;
}

/// Computes the gradients of w from x and the gradients of y. @param turn the first image in sums
[[nodiscard]] inline std::vector<float> convolve_to_filters(convolution const& sizes, std::vector<float> const& x,
                                                            std::vector<float> const& dy, std::size_t turn) {
  using namespace convolution_detail;
  std::size_t const filters = sizes.group_filters();
  std::vector<float> dw_transpose(sizes.w_numbers());
  std::vector<float> windows;
  for (std::size_t i = 0; i < sizes.images; ++i) {
    std::size_t const image = (turn + i) % sizes.images;
    for (std::size_t g = 0; g < sizes.groups; ++g) {
      gather_windows(sizes, x.data() + image * sizes.rows * sizes.columns * sizes.channels, g, windows);
      add_product(sizes.window(), filters, sizes.positions(), {windows.data(), 1, sizes.window()},
                  {dy.data() + image * sizes.positions() * sizes.filters + g * filters, sizes.filters},
                  {dw_transpose.data() + g * sizes.window() * filters, filters});
    }
  }
  return transpose(dw_transpose, sizes.groups, sizes.window(), filters);
}

/// Computes the gradients of x from w and the gradients of y. @param turn the first position of a window in sums
[[nodiscard]] inline std::vector<float> convolve_to_images(convolution const& sizes, std::vector<float> const& w,
                                                           std::vector<float> const& dy, std::size_t turn) {
  using namespace convolution_detail;
  std::size_t const filters = sizes.group_filters();
  std::vector<float> dx(sizes.x_numbers());
  std::vector<float> windows;
  for (std::size_t image = 0; image < sizes.images; ++image) {
    for (std::size_t g = 0; g < sizes.groups; ++g) {
      windows.assign(sizes.positions() * sizes.window(), 0);
      add_product(sizes.positions(), sizes.window(), filters,
                  {dy.data() + image * sizes.positions() * sizes.filters + g * filters, sizes.filters, 1},
                  {w.data() + g * filters * sizes.window(), sizes.window()}, {windows.data(), sizes.window()});
      scatter_windows(sizes, windows, g, turn, dx.data() + image * sizes.rows * sizes.columns * sizes.channels);
    }
  }
  return dx;
}

}  // namespace tutti::emulated_gpu
