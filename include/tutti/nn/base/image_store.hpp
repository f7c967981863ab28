// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// A source of the images of a data set that are not all in memory, such as a folder of pictures.
class image_store {
 public:
  image_store() = default;
  image_store(image_store const&) = delete;
  image_store& operator=(image_store const&) = delete;
  virtual ~image_store() = default;

  /// Returns the bytes of image i, valid until this thread asks a store for another image. Thread-safe.
  /// @throws data_error if the image cannot be read
  [[nodiscard]] virtual std::span<std::uint8_t const> image(std::size_t i) const = 0;

  /// A number that differs, in all likelihood, from that of a store with other images. Cost: no image is read.
  [[nodiscard]] virtual std::uint32_t checksum() const = 0;
};

}  // namespace tutti::nn
