// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/images/detail/scaling.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline images {

/// The pixels of a line from which one value is computed, and their weights, whose sum is `unit`.
struct weighted_pixels {
  static constexpr std::int32_t unit = 1 << 14;

  std::size_t first;
  std::vector<std::int32_t> weights;

  /// The weighted mean of pixels that are `stride` bytes apart. @param line first pixel of the line
  [[nodiscard]] std::uint8_t mean(std::uint8_t const* line, std::size_t stride) const noexcept {
    std::int32_t sum = unit / 2;
    for (std::size_t i = 0; i != weights.size(); ++i) {
      sum += weights[i] * line[(first + i) * stride];
    }
    return static_cast<std::uint8_t>(sum / unit);
  }
};

/// The pixels of each of `count` values, which are `step` pixels apart, in the middle of a line of `length` pixels.
TUTTI_DECL std::vector<weighted_pixels> weigh(std::size_t length, std::size_t count, double step) {
  std::vector<weighted_pixels> result(count);
  double const radius = (std::max)(step, 1.0);
  double const begin = (static_cast<double>(length) - static_cast<double>(count) * step) / 2;
  for (std::size_t i = 0; i != count; ++i) {
    double const centre = begin + (static_cast<double>(i) + 0.5) * step;
    auto const first = static_cast<std::size_t>((std::max)(0.0, std::floor(centre - radius + 0.5)));
    auto const end = (std::min)(length, static_cast<std::size_t>(std::floor(centre + radius + 0.5)));
    std::vector<double> weights;
    double sum = 0;
    for (std::size_t at = first; at < end; ++at) {
      weights.push_back((std::max)(0.0, 1 - std::abs(static_cast<double>(at) + 0.5 - centre) / radius));
      sum += weights.back();
    }
    std::int32_t rest = weighted_pixels::unit;
    for (double const weight : weights) {
      result[i].weights.push_back(static_cast<std::int32_t>(std::lround(weight / sum * weighted_pixels::unit)));
      rest -= result[i].weights.back();
    }
    result[i].first = first;
    *std::ranges::max_element(result[i].weights) += rest;
  }
  return result;
}

TUTTI_DECL std::vector<std::uint8_t> scale(picture const& original, image_shape const& shape) {
  auto const [width, height, channels] = original.size;
  double const step = (std::min)(static_cast<double>(width) / static_cast<double>(shape.columns),
                                 static_cast<double>(height) / static_cast<double>(shape.rows));
  auto const columns = weigh(width, shape.columns, step);
  auto rows = weigh(height, shape.rows, step);

  std::size_t const first_row = rows.front().first;
  std::size_t const end_row = rows.back().first + rows.back().weights.size();
  std::vector<std::uint8_t> narrow;  // the rows that are needed, scaled to the columns of the shape
  narrow.reserve((end_row - first_row) * shape.columns * channels);
  for (std::size_t y = first_row; y != end_row; ++y) {
    std::uint8_t const* const line = original.pixels.data() + y * width * channels;
    for (auto const& pixels : columns) {
      for (std::size_t c = 0; c != channels; ++c) {
        narrow.push_back(pixels.mean(line + c, channels));
      }
    }
  }

  for (auto& pixels : rows) {
    pixels.first -= first_row;
  }
  std::vector<std::uint8_t> image(shape.size());
  std::size_t const plane = shape.rows * shape.columns;
  std::size_t const stride = shape.columns * channels;
  for (std::size_t at = 0; at != plane; ++at) {
    auto const& pixels = rows[at / shape.columns];
    std::uint8_t const* const line = narrow.data() + at % shape.columns * channels;
    if (shape.channels == 1 && channels == 3) {
      constexpr unsigned red = 299;  // the shares of ITU-R BT.601, in thousandths
      constexpr unsigned green = 587;
      constexpr unsigned blue = 114;
      image[at] = static_cast<std::uint8_t>((red * pixels.mean(line, stride) + green * pixels.mean(line + 1, stride) +
                                             blue * pixels.mean(line + 2, stride) + 500) /
                                            1000);
    } else {
      for (std::size_t c = 0; c != shape.channels; ++c) {
        image[c * plane + at] = pixels.mean(line + (channels == 1 ? 0 : c), stride);
      }
    }
  }
  return image;
}

}  // namespace tutti::nn::detail::images
