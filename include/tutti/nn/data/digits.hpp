// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/dataset.hpp>
#include <tutti/nn/detail/data/digit_painter.hpp>
#include <tutti/nn/random.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::nn {

/// `count` images, image i a function of the seed and `first + i` alone, with random labels. Parts of
/// one stream that do not overlap serve as training and test sets.
[[nodiscard]] inline dataset digits(std::size_t count, std::uint64_t seed, std::uint64_t first = 0) {
  dataset result;
  constexpr auto side = static_cast<std::size_t>(detail::digit_painter::side);
  result.shape = {1, side, side};
  result.pixels.resize(count * result.features());
  result.labels.resize(count);
  for (std::size_t i = 0; i != count; ++i) {
    random_sequence random(seed, first + i);
    std::uint32_t const digit = random.below(10);
    result.labels[i] = static_cast<std::uint8_t>(digit);
    detail::digit_painter(random).paint(digit,
                                        std::span(result.pixels).subspan(i * result.features(), result.features()));
  }
  return result;
}

}  // namespace tutti::nn
