// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/detail/numbers/loops.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// How the bytes of an image become numbers: byte * factor + offset, for each channel its own.
class normalisation {
 public:
  /// What becomes of the bytes of one channel.
  struct channel {
    float factor;  ///< what a byte is multiplied by
    float offset;  ///< what is added after that
  };

  /// One for each channel.
  explicit normalisation(std::vector<channel> channels) : channels_(std::move(channels)) {}

  /// One for each channel.
  [[nodiscard]] std::span<channel const> channels() const noexcept { return channels_; }

  /// Writes an image's numbers. Cost: one pass, which vectorises; no allocation.
  /// @pre as many bytes and numbers, in as many channels as this is for
  void apply(std::span<std::uint8_t const> image, std::span<float> numbers) const {
    std::size_t const plane = image.size() / channels_.size();
    expects(image.size() == numbers.size() && plane * channels_.size() == image.size(), "normalisation: an image of ",
            image.size(), " bytes in ", channels_.size(), " channels does not make ", numbers.size(), " numbers");
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
[[nodiscard]] TUTTI_DECL normalisation to_unit_interval(std::size_t channels);

/// Each channel with mean 0 and standard deviation 1 over all images of the set; a channel that is the
/// same everywhere becomes 0. The test set is to be normalised as the training set is.
///
/// Cost: one pass over the set. The sums are whole numbers, so their order plays no part.
/// @pre at least one image
[[nodiscard]] TUTTI_DECL normalisation to_standard_scores(dataset const& set);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/normalisation.ipp>
#endif
