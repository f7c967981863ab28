// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/window.hpp>

#include <cstddef>

namespace tutti::nn::detail {

/// One place of a window over the images of a batch, cut to the image.
struct place {
  std::size_t image;   ///< where its image begins
  std::size_t output;  ///< where the pixel of the output lies that it makes
  std::size_t end;     ///< where the output of its image ends
  std::size_t top, bottom, left, right;

  [[nodiscard]] std::size_t pixels() const noexcept { return (bottom - top) * (right - left); }

  /// Calls f with where each pixel under it lies.
  template <class F>
  void for_each_pixel(image_shape const& input, F const& f) const {
    for (std::size_t i = top; i != bottom; ++i) {
      for (std::size_t j = left; j != right; ++j) {
        f(image + (i * input.columns + j) * input.channels);
      }
    }
  }
};

/// Calls f for each place in each image from one to before another, of a rectangle that moves down and across.
template <class F>
void for_each_place(image_shape const& input, image_shape const& output, window const& down, window const& across,
                    std::size_t image, std::size_t last, F const& f) {
  std::size_t made = image * output.size();
  for (; image != last; ++image) {
    std::size_t const end = made + output.size();
    for (std::size_t i = 0; i != output.rows; ++i) {
      for (std::size_t j = 0; j != output.columns; ++j, made += output.channels) {
        f(place{image * input.size(), made, end, down.begin(i), down.end(i, input.rows), across.begin(j),
                across.end(j, input.columns)});
      }
    }
  }
}

}  // namespace tutti::nn::detail
