// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/images/detail/picture_cache.hpp>
#include <tutti/nn/images/detail/picture_file.hpp>
#include <tutti/nn/images/detail/picture_names.hpp>
#include <tutti/nn/images/read_image.hpp>
#include <tutti/nn/images/read_image_folder.hpp>

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline images {

/// The pictures of a folder, decoded on demand.
class picture_store final : public image_store {
 public:
  picture_store(std::filesystem::path folder, std::vector<std::string> names, image_shape const& shape,
                std::uint64_t cache_bytes)
      : folder_(std::move(folder)),
        names_(std::move(names)),
        shape_(shape),
        cache_(static_cast<std::size_t>((std::min)(std::uint64_t{names_.size()}, cache_bytes / shape.size())),
               shape.size()) {
    for (auto const& name : names_) {
      std::error_code ignored_error;
      auto const text = name + '=' + std::to_string(std::filesystem::file_size(folder_ / name, ignored_error)) + '\n';
      checksum_ = ::crc32_z(checksum_, reinterpret_cast<Bytef const*>(text.data()), text.size());
    }
  }

  [[nodiscard]] std::span<std::uint8_t const> image(std::size_t i) const override {
    if (auto const cached_image = cache_.find(i); !cached_image.empty()) {
      return cached_image;
    }
    static thread_local std::vector<std::uint8_t> decoded_image;
    decoded_image = read_image(folder_ / names_[i], shape_);
    if (cache_.claim(i)) {
      cache_.publish(i, decoded_image);
      return cache_.find(i);
    }
    return decoded_image;
  }

  [[nodiscard]] std::uint32_t checksum() const override { return static_cast<std::uint32_t>(checksum_); }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> names_;  // relative to the folder
  image_shape shape_;
  uLong checksum_ = 0;
  mutable picture_cache cache_;
};

}  // namespace tutti::nn::detail::images

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL data_pair read_image_folder(std::filesystem::path const& folder, image_options const& options) {
  expects(options.side >= 1 && options.side <= 4096, "read_image_folder: an image must have from 1 to 4096 rows, not ",
          options.side);
  expects(options.channels <= 3 && options.channels != 2, "read_image_folder: an image has 1 channel or 3, not ",
          options.channels);
  auto const folders = detail::find_pictures(folder);
  bool is_grey = options.channels != 3;
  auto const list = [&](std::filesystem::path const& set_folder, std::vector<detail::class_folder> const& classes,
                        dataset& set) {
    std::vector<std::string> names;
    for (auto const& [name, pictures] : classes) {
      auto const label =
          std::ranges::find(folders.training, name, &detail::class_folder::name) - folders.training.begin();
      for (auto const& picture : pictures) {
        names.push_back(name + '/' + picture);
        set.labels.push_back(static_cast<std::uint8_t>(label));
        auto const size = detail::read_picture_size(set_folder / names.back());
        is_grey = is_grey && (size.channels == 1 || options.channels == 1);
      }
    }
    set.classes = folders.training.size();
    for (auto const& [name, pictures] : folders.training) {
      set.class_names.push_back(name);
    }
    return names;
  };
  data_pair result;
  auto training_names = list(folders.training_folder, folders.training, result.training);
  auto test_names = list(folders.test_folder, folders.test, result.test);
  image_shape const shape{is_grey ? 1U : 3U, options.side, options.side};
  result.training.shape = result.test.shape = shape;
  result.training.store = std::make_shared<detail::picture_store>(folders.training_folder, std::move(training_names),
                                                                  shape, options.cache_bytes);
  if (!test_names.empty()) {
    result.test.store =
        std::make_shared<detail::picture_store>(folders.test_folder, std::move(test_names), shape, options.cache_bytes);
  }
  return result;
}

}  // namespace tutti::nn
