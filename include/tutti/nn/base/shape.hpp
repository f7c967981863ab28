// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// The shape of one image: this many channels, each of rows x columns values, channel after channel, row after row. A
/// row of a batch's matrix is such an image, flattened.
struct image_shape {
  std::size_t channels = 1;  ///< values of a pixel
  std::size_t rows = 0;      ///< rows of pixels
  std::size_t columns = 0;   ///< pixels of a row

  /// The number of values.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return channels * rows * columns; }
  friend constexpr bool operator==(image_shape const&, image_shape const&) = default;
};

}  // namespace tutti::nn
