// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/shape.hpp>
#include <tutti/nn/images/detail/picture.hpp>

#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline images {

/// Scales a picture until it just covers a shape, and cuts out its middle: an image in the order of image_shape. Grey
/// becomes equal colours, and colours become their brightness.
///
/// Each value is the mean of the pixels around its place, weighted by a triangle that is as wide as two of the values,
/// or as two pixels if these are larger. An image of the shape's size remains as it is.
[[nodiscard]] TUTTI_DECL std::vector<std::uint8_t> scale(picture const& original, image_shape const& shape);

}  // namespace tutti::nn::detail::images

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/images/detail/scaling.ipp>
#endif
