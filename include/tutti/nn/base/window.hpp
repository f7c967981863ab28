// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/shape.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// A square that moves over an image: its side, its step, and the pixels by which the image is virtually extended on
/// each side.
struct window {
  std::size_t side = 1;     ///< pixels of a side
  std::size_t stride = 1;   ///< pixels of a step
  std::size_t padding = 0;  ///< pixels of zeros around the image

  /// The number of positions along this many pixels.
  [[nodiscard]] constexpr std::size_t places(std::size_t pixels) const noexcept {
    return (pixels + 2 * padding - side) / stride + 1;
  }

  /// The first pixel under position `at`.
  [[nodiscard]] constexpr std::size_t begin(std::size_t at) const noexcept {
    return at * stride < padding ? 0 : at * stride - padding;
  }
  /// The pixel behind the last one under position `at`, among this many pixels.
  [[nodiscard]] constexpr std::size_t end(std::size_t at, std::size_t pixels) const noexcept {
    std::size_t const past = at * stride + side - padding;
    return past < pixels ? past : pixels;
  }

  /// The image of this many channels with a pixel for each position.
  /// @pre the window fits into the padded image, and is larger than the padding
  [[nodiscard]] constexpr image_shape output_shape(image_shape const& image, std::size_t channels) const {
    expects(side > 0 && stride > 0 && padding < side,
            "window: side and stride must be 1 or more, and the padding below the side; not side ", side, ", stride ",
            stride, " and padding ", padding);
    expects(image.rows + 2 * padding >= side && image.columns + 2 * padding >= side, "window: a side of ", side,
            " does not fit into an image of ", image.rows, " x ", image.columns, " with a padding of ", padding,
            "; take a smaller side");
    return {channels, places(image.rows), places(image.columns)};
  }

  friend constexpr bool operator==(window const&, window const&) = default;
};

/// The parameters of a convolution. With g groups, the channels of input and output are divided into g parts of equal
/// size, and each part of the output depends on one part of the input.
struct convolution {
  std::size_t channels = 1;   ///< channels of the output
  window filter_window = {};  ///< the window that moves over the image
  std::size_t groups = 1;     ///< parts of the channels, each with its own filters
  bool bias = true;           ///< true if there are biases; useless before a normalisation, which removes them
};

}  // namespace tutti::nn
