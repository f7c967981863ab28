// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/augmentation.hpp>
#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/data/normalisation.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Images as numbers, and their classes.
struct image_batch {
  std::span<float const> numbers;        ///< image after image
  std::span<std::uint8_t const> labels;  ///< one for each image
};

/// Room for a batch of images, as rows of numbers, and their labels.
class batch_room {
 public:
  /// Room for so many images.
  batch_room(std::size_t rows, std::size_t features)
      : features_(features), numbers_(rows * features), labels_(rows), changed_(features) {}

  /// The number of images that it has room for.
  [[nodiscard]] std::size_t rows() const noexcept { return labels_.size(); }
  /// The numbers of the first images.
  [[nodiscard]] std::span<float> numbers(std::size_t rows) noexcept {
    return std::span(numbers_).first(rows * features_);
  }
  /// The labels of the first images.
  [[nodiscard]] std::span<std::uint8_t> labels(std::size_t rows) noexcept { return std::span(labels_).first(rows); }
  /// For an image that was changed but is not yet numbers.
  [[nodiscard]] std::span<std::uint8_t> changed() noexcept { return changed_; }

 private:
  std::size_t features_;
  std::vector<float> numbers_;
  std::vector<std::uint8_t> labels_;
  std::vector<std::uint8_t> changed_;
};

/// The images of a set, as a model is to see them: changed, if they are to be, and as numbers.
///
/// Image i of an epoch is a function of (seed, epoch, i). Several threads may use one source at a time.
class image_source {
 public:
  /// @pre the set outlives this
  image_source(dataset const& set, normalisation numbers, any_augmentation change = {}, std::uint64_t seed = 0);

  /// Where the images come from.
  [[nodiscard]] dataset const& set() const noexcept { return *set_; }

  /// Writes the chosen images and their labels into the room's first rows.
  ///
  /// Cost: one pass over the images, and one more if they are changed. No allocation.
  /// @pre the room has as many rows, of as many numbers as an image has; the images exist
  void fill(std::span<std::uint32_t const> chosen, std::uint64_t epoch, batch_room& room) const;

 private:
  dataset const* set_;
  normalisation numbers_;
  any_augmentation change_;
  std::uint64_t seed_;
};

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/image_source.ipp>
#endif
