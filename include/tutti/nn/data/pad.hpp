// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Centres the images in black ones of this side: models for 32 x 32 pixels do not take images of 28 x 28. Reads all
/// images into memory.
/// @pre the side is at least that of the images
[[nodiscard]] inline dataset pad(dataset const& set, std::size_t side) {
  auto const& original = set.shape;
  expects(original.rows <= side && original.columns <= side, "pad: images of ", original.rows, " x ", original.columns,
          " are larger than ", side, " x ", side, "; take a larger side");
  dataset result{{original.channels, side, side}, set.classes, {}, set.labels, set.class_names};
  result.pixels.resize(result.size() * result.features());
  std::size_t const top = (side - original.rows) / 2;
  std::size_t const left = (side - original.columns) / 2;
  for (std::size_t i = 0; i != set.size(); ++i) {
    auto const image = set.image(i);
    auto const padded_image = std::span(result.pixels).subspan(i * result.features(), result.features());
    for (std::size_t line = 0; line != original.channels * original.rows; ++line) {
      std::size_t const row = line / original.rows * side + top + line % original.rows;
      std::ranges::copy(image.subspan(line * original.columns, original.columns),
                        padded_image.subspan(row * side + left).begin());
    }
  }
  return result;
}

}  // namespace tutti::nn
