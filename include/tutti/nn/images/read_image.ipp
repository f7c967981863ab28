// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/images/detail/picture_file.hpp>
#include <tutti/nn/images/detail/scaling.hpp>
#include <tutti/nn/images/read_image.hpp>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL std::vector<std::uint8_t> read_image(std::filesystem::path const& file, image_shape const& shape) {
  expects((shape.channels == 1 || shape.channels == 3) && shape.rows > 0 && shape.columns > 0,
          "read_image: an image must have 1 or 3 channels and at least one pixel, not ", shape.channels, " x ",
          shape.rows, " x ", shape.columns);
  return detail::scale(detail::read_picture(file, shape.rows, shape.columns), shape);
}

}  // namespace tutti::nn
