// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/shape.hpp>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Reads a PNG or JPEG picture of any size as an image of this shape: upright, scaled until it just covers the shape,
/// its middle cut out, transparent pixels blended with white. Pictures in a folder of images are read alike.
/// @throws data_error if it cannot be read, is truncated or damaged, is of another kind, or is larger than 65,500
/// pixels a side or 100 million pixels
/// @pre 1 or 3 channels, at least one row and one column
[[nodiscard]] TUTTI_DECL std::vector<std::uint8_t> read_image(std::filesystem::path const& file,
                                                              image_shape const& shape);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/images/read_image.ipp>
#endif
