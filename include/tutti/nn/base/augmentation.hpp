// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/base/shape.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

namespace tutti::inline v0_1_0::nn {

/// Changes a training image without changing its class. The result is a function of the image and of the random
/// sequence, which depends on (seed, epoch, index of the image): the images are the same for any number of ranks,
/// order and thread.
template <class A>
concept augmentation = requires(A const& a, std::span<std::uint8_t const> image, image_shape const& shape,
                                random_sequence random, std::span<std::uint8_t> output) {
  { a(image, shape, random, output) } -> std::same_as<void>;
};

/// Pads an image with `padding` black pixels on each side, cuts a piece of the original size out of it at a random
/// position, and mirrors every other one horizontally. (He, Zhang, Ren, Sun, "Deep residual learning for image
/// recognition", CVPR 2016, section 4.2, after Lee et al., "Deeply-supervised nets", 2015)
struct crop_and_flip {
  std::uint32_t padding = 4;  ///< black pixels on each side; 0: no cropping
  bool flips = true;          ///< true if images are mirrored

  /// Cost: one pass over the image.
  /// @pre image and changed are different and have shape.size() bytes each
  void operator()(std::span<std::uint8_t const> image, image_shape const& shape, random_sequence random,
                  std::span<std::uint8_t> output) const {
    expects(image.size() == shape.size() && output.size() == shape.size(), "crop_and_flip: images of this shape have ",
            shape.size(), " bytes, not ", image.size(), " and ", output.size());
    std::uint32_t const down = random.draw_below(2 * padding + 1);
    std::uint32_t const right = random.draw_below(2 * padding + 1);
    bool const is_flipped = flips && random.chance(50);
    // The columns that the piece shares with the image: `count`, from `piece_column` in the piece, from `image_column`
    // in the image.
    std::size_t const piece_column = std::min<std::size_t>(right < padding ? padding - right : 0, shape.columns);
    std::size_t const image_column = std::min<std::size_t>(right < padding ? 0 : right - padding, shape.columns);
    std::size_t const count = shape.columns - (std::max)(piece_column, image_column);
    for (std::size_t line = 0; line != shape.channels * shape.rows; ++line) {
      auto const row = output.subspan(line * shape.columns, shape.columns);
      std::size_t const padded_row = line % shape.rows + down;  // row of the padded image
      std::ranges::fill(row, std::uint8_t{0});
      if (padded_row >= padding && padded_row - padding < shape.rows) {
        std::size_t const source = line / shape.rows * shape.rows + padded_row - padding;
        std::ranges::copy(image.subspan(source * shape.columns + image_column, count),
                          row.begin() + static_cast<long>(piece_column));
      }
      if (is_flipped) {
        std::ranges::reverse(row);
      }
    }
  }
};

static_assert(augmentation<crop_and_flip>);

/// An augmentation, chosen at run time; monostate leaves images unchanged.
using any_augmentation = std::variant<std::monostate, crop_and_flip>;

}  // namespace tutti::nn
