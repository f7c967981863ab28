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

/// The conversion of an image's bytes to floats: byte * factor + offset, with factor and offset of each channel.
class normalisation {
 public:
  /// The conversion of one channel.
  struct channel {
    float factor;  ///< factor of a byte
    float offset;  ///< summand after that
  };

  /// Constructs the conversion from those of the channels.
  explicit normalisation(std::vector<channel> channels) : channels_(std::move(channels)) {}

  /// The conversion of each channel.
  [[nodiscard]] std::span<channel const> channels() const noexcept { return channels_; }

  /// Writes an image's values. Cost: one pass, which vectorises; no allocation.
  /// @pre equal numbers of bytes and values, in the channels of this conversion
  void apply(std::span<std::uint8_t const> image, std::span<float> numbers) const {
    std::size_t const plane = image.size() / channels_.size();
    expects(image.size() == numbers.size() && plane * channels_.size() == image.size(), "normalisation: an image of ",
            image.size(), " bytes in ", channels_.size(), " channels does not make ", numbers.size(), " numbers");
    std::uint8_t const* byte = image.data();
    float* number = numbers.data();
    for (auto const [factor, offset] : channels_) {
      detail::vectorise([=, factor = factor, offset = offset] {
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

/// Converts bytes from 0 to 255 to values from 0 to 1.
[[nodiscard]] TUTTI_DECL normalisation to_unit_interval(std::size_t channels);

/// Gives each channel mean 0 and standard deviation 1 over all images of the set; a constant channel becomes 0. Use
/// the training set's conversion for the test set, too.
///
/// Cost: one pass over the set. The sums are integers, so their order does not matter.
/// @pre at least one image
[[nodiscard]] TUTTI_DECL normalisation to_standard_scores(dataset const& set);

/// The conversion in a training on this set: to standard scores if `settings::standardise` is true, else to values
/// from 0 to 1.
[[nodiscard]] TUTTI_DECL normalisation numbers_for(dataset const& training, bool standardise);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/normalisation.ipp>
#endif
