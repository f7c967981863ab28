// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/normalisation.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
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
  for (std::size_t at = 0; at != set.size() * channels; ++at) {
    std::uint64_t sum = 0;
    std::uint64_t square = 0;
    for (std::uint32_t const byte : std::span(set.pixels).subspan(at * plane, plane)) {
      sum += byte;
      square += byte * byte;
    }
    sums[at % channels] += sum;
    squares[at % channels] += square;
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
