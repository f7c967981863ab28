// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/data/split.hpp>

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

/// A choice of the images of another store.
class chosen_images final : public image_store {
 public:
  chosen_images(std::shared_ptr<image_store const> store, std::vector<std::uint32_t> images)
      : store_(std::move(store)), images_(std::move(images)) {}

  [[nodiscard]] std::span<std::uint8_t const> image(std::size_t i) const override { return store_->image(images_[i]); }

  [[nodiscard]] std::uint32_t checksum() const override {
    auto const bytes = std::as_bytes(std::span(images_));
    return static_cast<std::uint32_t>(
        ::crc32_z(store_->checksum(), reinterpret_cast<Bytef const*>(bytes.data()), bytes.size()));
  }

 private:
  std::shared_ptr<image_store const> store_;
  std::vector<std::uint32_t> images_;
};

/// A set of some images of another one.
TUTTI_DECL dataset choose(dataset const& set, std::vector<std::uint32_t> images) {
  dataset result{set.shape, set.classes, {}, {}, set.class_names};
  result.pixels.reserve(set.store ? 0 : images.size() * set.features());
  for (std::uint32_t const i : images) {
    result.labels.push_back(set.labels[i]);
    if (!set.store) {
      auto const pixels = set.image(i);
      result.pixels.insert(result.pixels.end(), pixels.begin(), pixels.end());
    }
  }
  if (set.store) {
    result.store = std::make_shared<chosen_images>(set.store, std::move(images));
  }
  return result;
}

}  // namespace tutti::nn::detail

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL data_pair split(dataset const& set, double share, std::uint64_t seed) {
  expects(share > 0 && share < 1, "split: the test set's share must be above 0 and below 1, not ", share);
  std::vector<std::vector<std::uint32_t>> members(set.classes);
  for (std::size_t i = 0; i != set.size(); ++i) {
    members.at(set.labels[i]).push_back(static_cast<std::uint32_t>(i));
  }
  std::vector<std::uint32_t> training;
  std::vector<std::uint32_t> test;
  for (std::size_t c = 0; c != set.classes; ++c) {
    auto const images = std::span(members[c]);
    random_sequence(seed, c).shuffle(images);
    auto count = static_cast<std::size_t>(std::lround(share * static_cast<double>(images.size())));
    count = images.size() < 2 ? 0 : std::clamp<std::size_t>(count, 1, images.size() - 1);
    test.insert(test.end(), images.begin(), images.begin() + static_cast<std::ptrdiff_t>(count));
    training.insert(training.end(), images.begin() + static_cast<std::ptrdiff_t>(count), images.end());
  }
  std::ranges::sort(training);
  std::ranges::sort(test);
  return {detail::choose(set, std::move(training)), detail::choose(set, std::move(test))};
}

}  // namespace tutti::nn
