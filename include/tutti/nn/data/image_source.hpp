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

/// A batch of images as floats, with their classes.
struct image_batch {
  std::span<float const> numbers;        ///< values of the images, one after another
  std::span<std::uint8_t const> labels;  ///< class of each image
};

/// Memory for a batch of images, as rows of floats, and their labels.
class batch_room {
 public:
  /// Allocates memory for `rows` images.
  batch_room(std::size_t rows, std::size_t features)
      : features_(features), numbers_(rows * features), labels_(rows), augmented_image_(features) {}

  /// The number of images that fit.
  [[nodiscard]] std::size_t rows() const noexcept { return labels_.size(); }
  /// The values of the first `rows` images.
  [[nodiscard]] std::span<float> numbers(std::size_t rows) noexcept {
    return std::span(numbers_).first(rows * features_);
  }
  /// The labels of the first `rows` images.
  [[nodiscard]] std::span<std::uint8_t> labels(std::size_t rows) noexcept { return std::span(labels_).first(rows); }
  /// Memory for an image that is changed but not yet converted to floats.
  [[nodiscard]] std::span<std::uint8_t> augmented_image() noexcept { return augmented_image_; }

 private:
  std::size_t features_;
  std::vector<float> numbers_;
  std::vector<std::uint8_t> labels_;
  std::vector<std::uint8_t> augmented_image_;
};

/// The images of a set in the form that a model receives: changed, if augmentation is on, and as floats.
///
/// Image i of an epoch is a function of (seed, epoch, i). Several threads may use one source concurrently.
class image_source {
 public:
  /// @pre the set outlives this
  image_source(dataset const& set, normalisation numbers, any_augmentation change = {}, std::uint64_t seed = 0);

  /// The data set of the images.
  [[nodiscard]] dataset const& set() const noexcept { return *set_; }

  /// Writes these images and their labels into the first rows.
  ///
  /// Cost: one pass over the images, and one more if they are changed. No allocation.
  /// @pre `room` has at least as many rows, of the length of an image; the images exist
  void fill(std::span<std::uint32_t const> images, std::uint64_t epoch, batch_room& room) const;

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
