// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/npy.hpp>
#include <tutti/nn/detail/data/count_classes.hpp>
#include <tutti/nn/detail/data/file_names.hpp>
#include <tutti/nn/detail/data/npy_file.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::npy {

/// Reads images into the order of image_shape.
TUTTI_DECL void read_images(npy_file& file, dataset& set) {
  auto const& lengths = file.shape();
  if (file.type() != "|u1" && file.type() != "<u1" && file.type() != ">u1") {
    file.fail(
        "has elements of type " + file.type() +
        ": expected uint8; save images.astype('uint8'), or (255 * images).astype('uint8') if they are from 0 to 1");
  }
  auto const is_channels = [](std::size_t length) { return length == 1 || length == 3; };
  bool const channels_last = lengths.size() == 4 && is_channels(lengths[3]);
  if (lengths.size() == 3) {
    set.shape = {1, lengths[1], lengths[2]};
  } else if (channels_last) {
    set.shape = {lengths[3], lengths[1], lengths[2]};
  } else if (lengths.size() == 4 && is_channels(lengths[1])) {
    set.shape = {lengths[1], lengths[2], lengths[3]};
  } else {
    file.fail("has the shape " + file.shape_text() +
              ": expected (N, rows, columns), (N, rows, columns, C) or (N, C, rows, columns) with C 1 or 3; save "
              "images.reshape(...)");
  }
  auto const [channels, rows, columns] = set.shape;
  if (lengths[0] == 0 || rows == 0 || columns == 0 || rows > 4096 || columns > 4096 ||
      lengths[0] > SIZE_MAX / set.features()) {
    file.fail("has the shape " + file.shape_text() + ": expected at least one image of 1 x 1 to 4096 x 4096 pixels");
  }
  set.pixels = file.read(lengths[0] * set.features());
  if (channels_last && channels != 1) {
    std::size_t const plane = rows * columns;
    std::vector<std::uint8_t> image(set.features());
    for (auto at = set.pixels.begin(); at != set.pixels.end(); at += static_cast<std::ptrdiff_t>(image.size())) {
      std::copy_n(at, image.size(), image.begin());
      for (std::size_t i = 0; i != image.size(); ++i) {
        at[static_cast<std::ptrdiff_t>(i % channels * plane + i / channels)] = image[i];
      }
    }
  }
}

/// Reads labels, one for each of `count` images.
TUTTI_DECL void read_labels(npy_file& file, std::size_t count, dataset& set) {
  auto const& type = file.type();
  std::size_t const bytes = type.size() == 3 ? static_cast<std::size_t>(type[2] - '0') : 0;
  if (type.size() != 3 || (type[1] != 'i' && type[1] != 'u') ||
      (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)) {
    file.fail("has elements of type " + type + ": expected integers; save labels.astype('uint8')");
  }
  auto const& lengths = file.shape();
  if (lengths.empty() || lengths.size() > 2 || (lengths.size() == 2 && lengths[1] != 1)) {
    file.fail("has the shape " + file.shape_text() +
              ": expected (N,) or (N, 1); save labels.argmax(axis=1) if they are one-hot");
  }
  if (lengths[0] != count) {
    file.fail("does not belong to the images: expected " + std::to_string(count) + " labels, one per image, found " +
              std::to_string(lengths[0]));
  }
  auto const elements = file.read(count * bytes);
  for (std::size_t i = 0; i != count; ++i) {
    std::uint64_t label = 0;
    for (std::size_t b = 0; b != bytes; ++b) {
      label = label << 8 | elements[i * bytes + (type[0] == '>' ? b : bytes - 1 - b)];
    }
    bool const is_negative = type[1] == 'i' && label >> (8 * bytes - 1) != 0;
    if (is_negative || label > UINT8_MAX) {
      file.fail("is mislabelled: expected labels from 0 to 255, found " +
                (is_negative ? "a negative one" : std::to_string(label)) + " for image " + std::to_string(i) +
                "; number the classes from 0");
    }
    set.labels.push_back(static_cast<std::uint8_t>(label));
  }
}

}  // namespace tutti::nn::detail::npy

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL dataset read_npy(std::filesystem::path const& images, std::filesystem::path const& labels) {
  dataset result;
  detail::npy_file pictures(images);
  detail::npy_file numbers(labels);
  detail::npy::read_images(pictures, result);
  detail::npy::read_labels(numbers, pictures.shape()[0], result);
  result.classes = *std::ranges::max_element(result.labels) + std::size_t{1};
  return result;
}

TUTTI_DECL data_pair read_npy_folder(std::filesystem::path const& folder) {
  std::array<std::filesystem::path, 4> files{folder / "train_images.npy", folder / "train_labels.npy",
                                             folder / "test_images.npy", folder / "test_labels.npy"};
  std::array<bool, 4> exists{};
  std::ranges::transform(files, exists.begin(), [](std::filesystem::path const& file) {
    std::error_code ignored_error;
    return std::filesystem::exists(file, ignored_error);
  });
  bool const has_test = exists[2] || exists[3];
  std::string missing;
  for (std::size_t i = 0; i != (has_test ? 4 : 2); ++i) {
    missing += exists[i] ? "" : "\n  " + files[i].filename().string();
  }
  if (!missing.empty()) {
    throw data_error(detail::should_hold(folder) + " these files, but does not:" + missing);
  }
  data_pair result{read_npy(files[0], files[1]), has_test ? read_npy(files[2], files[3]) : dataset{}};
  if (!has_test) {
    result.test.shape = result.training.shape;
  } else if (result.test.shape != result.training.shape) {
    throw data_error(folder.string() +
                     " does not hold one data set: the images of train_images.npy and of "
                     "test_images.npy have different shapes; save them in the same shape");
  }
  detail::count_classes(result);
  return result;
}

}  // namespace tutti::nn
