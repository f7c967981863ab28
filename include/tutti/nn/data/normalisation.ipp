// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/random.hpp>
#include <tutti/nn/data/normalisation.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL normalisation to_unit_interval(std::size_t channels) {
  return normalisation(std::vector<normalisation::channel>(channels, {1.0F / 255.0F, 0.0F}));
}

TUTTI_DECL normalisation to_standard_scores(dataset const& set) {
  std::size_t const channels = set.shape.channels;
  std::size_t const plane = set.shape.rows * set.shape.columns;
  expects(set.size() > 0 && plane > 0,
          "to_standard_scores: the set must have at least one image of at least one pixel; it has ", set.size(),
          " images of ", plane, " pixels");
  std::vector<std::uint64_t> sums(channels);
  std::vector<std::uint64_t> squares(channels);
  // Each process begins elsewhere, so that ranks which share a store do not all decode the same picture.
  auto const image_count = static_cast<std::uint32_t>(set.size());
  std::size_t const first = random_sequence(static_cast<std::uint64_t>(::getpid())).draw_below(image_count);
  for (std::size_t i = 0; i != set.size(); ++i) {
    auto const image = set.image((first + i) % set.size());
    for (std::size_t c = 0; c != channels; ++c) {
      std::uint64_t sum = 0;
      std::uint64_t square = 0;
      for (std::uint32_t const byte : image.subspan(c * plane, plane)) {
        sum += byte;
        square += byte * byte;
      }
      sums[c] += sum;
      squares[c] += square;
    }
  }
  std::vector<normalisation::channel> result(channels);
  double const count = static_cast<double>(set.size() * plane);
  for (std::size_t c = 0; c != channels; ++c) {
    double const mean = static_cast<double>(sums[c]) / count;
    double const variance = static_cast<double>(squares[c]) / count - mean * mean;
    double const factor = variance > 1e-9 ? 1 / std::sqrt(variance) : 1.0 / 255;
    result[c] = {static_cast<float>(factor), static_cast<float>(-mean * factor)};
  }
  return normalisation(std::move(result));
}

TUTTI_DECL normalisation numbers_for(dataset const& training, bool standardise) {
  return standardise ? to_standard_scores(training) : to_unit_interval(training.shape.channels);
}

}  // namespace tutti::nn
