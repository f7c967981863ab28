// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/images/detail/picture.hpp>

#include <cstddef>
#include <filesystem>

namespace tutti::inline v0_1_0::nn::detail::inline images {

/// Reads the header of a PNG or JPEG picture.
/// @throws data_error if the header cannot be read, is damaged or of another kind, or announces too large a picture
[[nodiscard]] TUTTI_DECL picture_size read_picture_size(std::filesystem::path const& file);

/// Reads a PNG or JPEG picture, for an image of this size; it may be decoded smaller than it is, but not than needed.
/// @throws data_error like read_picture_size, or if the picture is truncated or damaged
[[nodiscard]] TUTTI_DECL picture read_picture(std::filesystem::path const& file, std::size_t needed_height,
                                              std::size_t needed_width);

}  // namespace tutti::nn::detail::images

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/images/detail/picture_file.ipp>
#endif
