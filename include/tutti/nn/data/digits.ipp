// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/random.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/detail/data/digit_painter.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL dataset digits(std::size_t count, std::uint64_t seed, std::uint64_t first) {
  dataset result;
  constexpr auto side = static_cast<std::size_t>(detail::digit_painter::side);
  result.shape = {1, side, side};
  result.pixels.resize(count * result.features());
  result.labels.resize(count);
  for (std::size_t i = 0; i != count; ++i) {
    random_sequence random(seed, first + i);
    std::uint32_t const digit = random.draw_below(10);
    result.labels[i] = static_cast<std::uint8_t>(digit);
    detail::digit_painter(random).paint(digit,
                                        std::span(result.pixels).subspan(i * result.features(), result.features()));
  }
  return result;
}

}  // namespace tutti::nn
