// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/dataset.hpp>
#include <tutti/nn/detail/loops.hpp>
#include <tutti/nn/detail/require.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::nn {

/// How the bytes of an image become numbers: byte * factor + offset, for each channel its own.
class normalisation {
 public:
  struct channel {
    float factor;
    float offset;
  };

  explicit normalisation(std::vector<channel> channels) : channels_(std::move(channels)) {}

  [[nodiscard]] std::span<channel const> channels() const noexcept { return channels_; }

  /// Writes an image's numbers. Cost: one pass, which vectorises; no allocation.
  /// @pre as many bytes and numbers, in as many channels as this is for
  void apply(std::span<std::uint8_t const> image, std::span<float> numbers) const {
    std::size_t const plane = image.size() / channels_.size();
    detail::require(image.size() == numbers.size() && plane * channels_.size() == image.size(),
                    "normalisation: an image of ", image.size(), " bytes in ", channels_.size(),
                    " channels does not make ", numbers.size(), " numbers");
    std::uint8_t const* byte = image.data();
    float* number = numbers.data();
    for (auto const [factor, offset] : channels_) {
      detail::vectorised([=, factor = factor, offset = offset] {
        for (std::size_t i = 0; i != plane; ++i) {
          number[i] = static_cast<float>(byte[i]) * factor + offset;
        }
      });
      byte += plane;
      number += plane;
    }
  }

 private:
  std::vector<channel> channels_;
};

/// Bytes from 0 to 255 as numbers from 0 to 1.
[[nodiscard]] inline normalisation to_unit_interval(std::size_t channels) {
  return normalisation(std::vector<normalisation::channel>(channels, {1.0F / 255.0F, 0.0F}));
}

/// Each channel with mean 0 and standard deviation 1 over all images of the set; a channel that is the
/// same everywhere becomes 0. The test set is to be normalised as the training set is.
///
/// Cost: one pass over the set. The sums are whole numbers, so their order plays no part.
/// @pre at least one image
[[nodiscard]] inline normalisation to_standard_scores(dataset const& set) {
  std::size_t const channels = set.shape.channels;
  std::size_t const plane = set.shape.rows * set.shape.columns;
  detail::require(set.size() > 0 && plane > 0,
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

}  // namespace tutti::nn
