// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/images/detail/picture.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn::detail::inline images {

/// True if these are the first bytes of a JPEG picture.
[[nodiscard]] TUTTI_DECL bool is_jpeg(std::span<std::uint8_t const> bytes) noexcept;

/// Reads the header of a JPEG picture; the size is that before it is turned upright.
/// @throws data_error, without the name of the file, if the header is damaged
[[nodiscard]] TUTTI_DECL picture_size jpeg_size(std::span<std::uint8_t const> bytes);

/// Decodes a JPEG picture, and turns it upright as its EXIF data says. One that is several times larger than needed is
/// decoded at a half, a quarter or an eighth of its size, but to at least twice the height and width needed.
/// @throws data_error, without the name of the file, if it is damaged
[[nodiscard]] TUTTI_DECL picture decode_jpeg(std::span<std::uint8_t const> bytes, std::size_t needed_height,
                                             std::size_t needed_width);

}  // namespace tutti::nn::detail::images

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/images/detail/jpeg.ipp>
#endif
