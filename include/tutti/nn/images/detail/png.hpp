// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/images/detail/picture.hpp>

#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn::detail::inline images {

/// True if these are the first bytes of a PNG picture.
[[nodiscard]] TUTTI_DECL bool is_png(std::span<std::uint8_t const> bytes) noexcept;

/// Reads the header of a PNG picture. A palette counts as colour.
/// @throws data_error, without the name of the file, if the header is damaged
[[nodiscard]] TUTTI_DECL picture_size png_size(std::span<std::uint8_t const> bytes);

/// Decodes a PNG picture of any kind to 8 bits; transparent pixels are blended with white.
/// @throws data_error, without the name of the file, if it is damaged
[[nodiscard]] TUTTI_DECL picture decode_png(std::span<std::uint8_t const> bytes);

}  // namespace tutti::nn::detail::images

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/images/detail/png.ipp>
#endif
