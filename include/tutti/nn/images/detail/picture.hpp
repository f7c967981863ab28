// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline images {

/// The size of a picture, and its channels: 1 for grey, 3 for red, green and blue.
struct picture_size {
  std::size_t width;
  std::size_t height;
  std::size_t channels;
};

/// A decoded picture: row after row, the channels of a pixel beside each other.
struct picture {
  picture_size size;
  std::vector<std::uint8_t> pixels;
};

}  // namespace tutti::nn::detail::images
