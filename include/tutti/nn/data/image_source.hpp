// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/expects.hpp>
#include <tutti/nn/data/augmentation.hpp>
#include <tutti/nn/data/dataset.hpp>
#include <tutti/nn/data/normalisation.hpp>
#include <tutti/nn/random.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tutti::nn {

/// Room for a batch of images, as rows of numbers, and their labels.
class batch_room {
 public:
  batch_room(std::size_t rows, std::size_t features)
      : features_(features), numbers_(rows * features), labels_(rows), changed_(features) {}

  [[nodiscard]] std::size_t rows() const noexcept { return labels_.size(); }
  [[nodiscard]] std::span<float> numbers(std::size_t rows) noexcept {
    return std::span(numbers_).first(rows * features_);
  }
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
  image_source(dataset const& set, normalisation numbers, any_augmentation change = {}, std::uint64_t seed = 0)
      : set_(&set), numbers_(std::move(numbers)), change_(change), seed_(seed) {
    expects(numbers_.channels().size() == set.shape.channels, "image_source: the images have ", set.shape.channels,
            " channels, and the normalisation is for ", numbers_.channels().size());
  }

  [[nodiscard]] dataset const& set() const noexcept { return *set_; }

  /// Writes the chosen images and their labels into the room's first rows.
  ///
  /// Cost: one pass over the images, and one more if they are changed. No allocation.
  /// @pre the room has as many rows, of as many numbers as an image has; the images exist
  void fill(std::span<std::uint32_t const> chosen, std::uint64_t epoch, batch_room& room) const {
    expects(chosen.size() <= room.rows() && room.changed().size() == set_->features(), "image_source: ", chosen.size(),
            " images of ", set_->features(), " numbers do not fit into ", room.rows(), " rows of ",
            room.changed().size());
    auto const numbers = room.numbers(chosen.size());
    auto const labels = room.labels(chosen.size());
    std::size_t const features = set_->features();
    std::visit(
        [&](auto const& change) {
          for (std::size_t i = 0; i != chosen.size(); ++i) {
            expects(chosen[i] < set_->size(), "image_source: the set has ", set_->size(), " images, and no image ",
                    chosen[i]);
            auto const row = numbers.subspan(i * features, features);
            if constexpr (augmentation<std::remove_cvref_t<decltype(change)>>) {
              // Streams beyond 2^32: the sampler's are the numbers of epochs.
              random_sequence const random(seed_, (epoch + 1) << 32 | chosen[i]);
              change(set_->image(chosen[i]), set_->shape, random, room.changed());
              numbers_.apply(room.changed(), row);
            } else {
              numbers_.apply(set_->image(chosen[i]), row);
            }
            labels[i] = set_->labels[chosen[i]];
          }
        },
        change_);
  }

 private:
  dataset const* set_;
  normalisation numbers_;
  any_augmentation change_;
  std::uint64_t seed_;
};

}  // namespace tutti::nn
