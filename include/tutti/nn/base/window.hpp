// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/shape.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// A square that moves over an image: its side, how far it moves at a time, and how many pixels the
/// image is thought to be continued by on each side.
struct window {
  std::size_t side = 1;     ///< pixels of a side: it is a square
  std::size_t stride = 1;   ///< by how many pixels it moves
  std::size_t padding = 0;  ///< pixels of zeros around the image

  /// How many places it takes along this many pixels.
  [[nodiscard]] constexpr std::size_t places(std::size_t pixels) const noexcept {
    return (pixels + 2 * padding - side) / stride + 1;
  }

  /// Which of this many pixels lie under place `at`: from `begin` to before `end`.
  [[nodiscard]] constexpr std::size_t begin(std::size_t at) const noexcept {
    return at * stride < padding ? 0 : at * stride - padding;
  }
  /// The end of those.
  [[nodiscard]] constexpr std::size_t end(std::size_t at, std::size_t pixels) const noexcept {
    std::size_t const past = at * stride + side - padding;
    return past < pixels ? past : pixels;
  }

  /// The image of this many channels that has a pixel for each place.
  /// @pre the window fits into the padded image, and is larger than the padding
  [[nodiscard]] constexpr image_shape over(image_shape const& image, std::size_t channels) const {
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

/// What a convolution is made of. With g groups, the channels of input and output are cut into g parts
/// of the same size, and each part of the output sees one part of the input.
struct convolution {
  std::size_t channels = 1;  ///< of the output
  window over = {};          ///< the window that moves over the image
  std::size_t groups = 1;    ///< how many parts the channels are divided into, each with its own filters
  bool bias = true;          ///< a normalisation that follows would take it out again
};

}  // namespace tutti::nn
