// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// What one sample of images is: this many channels, each of rows x columns numbers, channel after
/// channel, row after row. A row of a batch's matrix is such an image, flattened.
struct image_shape {
  std::size_t channels = 1;  ///< numbers of a pixel
  std::size_t rows = 0;      ///< rows of pixels
  std::size_t columns = 0;   ///< pixels of a row

  /// How many numbers.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return channels * rows * columns; }
  friend constexpr bool operator==(image_shape const&, image_shape const&) = default;
};

}  // namespace tutti::nn
