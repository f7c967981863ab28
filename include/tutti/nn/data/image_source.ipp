// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/data/image_source.hpp>

#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL image_source::image_source(dataset const& set, normalisation numbers, any_augmentation change,
                                      std::uint64_t seed)
    : set_(&set), numbers_(std::move(numbers)), change_(change), seed_(seed) {
  expects(numbers_.channels().size() == set.shape.channels, "image_source: the images have ", set.shape.channels,
          " channels, but the normalisation has ", numbers_.channels().size());
}

TUTTI_DECL void image_source::fill(std::span<std::uint32_t const> images, std::uint64_t epoch, batch_room& room) const {
  expects(images.size() <= room.rows() && room.augmented_image().size() == set_->features(),
          "image_source: ", images.size(), " images of ", set_->features(), " numbers do not fit into ", room.rows(),
          " rows of ", room.augmented_image().size());
  auto const numbers = room.numbers(images.size());
  auto const labels = room.labels(images.size());
  std::size_t const features = set_->features();
  std::visit(
      [&](auto const& change) {
        for (std::size_t i = 0; i != images.size(); ++i) {
          expects(images[i] < set_->size(), "image_source: the set has ", set_->size(), " images, and no image ",
                  images[i]);
          auto const row = numbers.subspan(i * features, features);
          if constexpr (augmentation<std::remove_cvref_t<decltype(change)>>) {
            // Streams beyond 2^32, because the sampler's streams are the numbers of epochs.
            random_sequence const random(seed_, (epoch + 1) << 32 | images[i]);
            change(set_->image(images[i]), set_->shape, random, room.augmented_image());
            numbers_.apply(room.augmented_image(), row);
          } else {
            numbers_.apply(set_->image(images[i]), row);
          }
          labels[i] = set_->labels[images[i]];
        }
      },
      change_);
}

}  // namespace tutti::nn
