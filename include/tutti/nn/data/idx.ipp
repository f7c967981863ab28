// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/idx.hpp>
#include <tutti/nn/detail/data/count_classes.hpp>
#include <tutti/nn/detail/data/file_names.hpp>
#include <tutti/nn/detail/data/gz_file.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

/// Reads files in the idx format of MNIST, plain or compressed with gzip.
///
/// Format: two zero bytes, 8 for bytes, the number of dimensions, each dimension as 32 bits (most
/// significant byte first), then the elements.
namespace idx {

inline constexpr std::uint32_t images_magic = 0x0803;  ///< bytes, three dimensions
inline constexpr std::uint32_t labels_magic = 0x0801;  ///< bytes, one dimension

/// Reads the next 32 bits of a header.
TUTTI_DECL std::uint32_t word(gz_file& file, std::string const& description) {
  std::array<std::uint8_t, 4> bytes{};
  std::size_t const byte_count = file.read(bytes);
  if (byte_count != bytes.size()) {
    file.fail("is truncated: expected 4 bytes of the header, " + description + ", found " + std::to_string(byte_count));
  }
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

/// Reads the rest of the file, which must have `count` bytes.
TUTTI_DECL void elements(gz_file& file, std::vector<std::uint8_t>& destination, std::size_t count,
                         std::string const& description) {
  if (std::size_t const byte_count = file.append(destination, count); byte_count != count) {
    file.fail("is truncated: expected " + std::to_string(count) + " bytes of " + description + ", found " +
              std::to_string(byte_count));
  }
  if (std::array<std::uint8_t, 1> byte{}; file.read(byte) != 0) {
    file.fail("continues after the last element that its header announces");
  }
}

TUTTI_DECL std::string in_hex(std::uint32_t word) {
  std::string text = "0x00000000";
  for (std::size_t i = 0; i != 8; ++i) {
    text[9 - i] = "0123456789abcdef"[word >> 4 * i & 15U];
  }
  return text;
}

TUTTI_DECL void expect_magic(gz_file& file, std::uint32_t expected) {
  auto const meaning = [](std::uint32_t word) {
    return std::string(word == images_magic ? " (idx images)" : word == labels_magic ? " (idx labels)" : "");
  };
  std::uint32_t const magic = word(file, "the magic number");
  if (magic != expected) {
    file.fail("is a file of another kind: expected the magic number " + in_hex(expected) + meaning(expected) +
              ", found " + in_hex(magic) + meaning(magic));
  }
}

/// Exchanges rows and columns of all images.
TUTTI_DECL void transpose(dataset& set) {
  auto const [channels, rows, columns] = set.shape;
  std::vector<std::uint8_t> image(set.features());
  for (std::size_t i = 0; i != set.size(); ++i) {
    auto const pixels = std::span(set.pixels).subspan(i * image.size(), image.size());
    for (std::size_t at = 0; at != image.size(); ++at) {
      image[at % columns * rows + at / columns] = pixels[at];
    }
    std::ranges::copy(image, pixels.begin());
  }
  set.shape = {channels, columns, rows};
}

}  // namespace idx

}  // namespace tutti::nn::detail

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL dataset read_idx(std::filesystem::path const& images, std::filesystem::path const& labels) {
  dataset result;
  detail::gz_file pictures(images);
  detail::idx::expect_magic(pictures, detail::idx::images_magic);
  std::size_t const count = detail::idx::word(pictures, "the number of images");
  image_shape& shape = result.shape;
  shape.rows = detail::idx::word(pictures, "the rows of an image");
  shape.columns = detail::idx::word(pictures, "the columns of an image");
  if (count == 0 || shape.rows == 0 || shape.columns == 0 || shape.rows > 4096 || shape.columns > 4096) {
    pictures.fail("has no usable header: expected at least one image of 1 x 1 to 4096 x 4096 pixels, found " +
                  std::to_string(count) + " of " + std::to_string(shape.rows) + " x " + std::to_string(shape.columns));
  }

  detail::gz_file names(labels);
  detail::idx::expect_magic(names, detail::idx::labels_magic);
  std::size_t const label_count = detail::idx::word(names, "the number of labels");
  if (label_count != count) {
    names.fail("does not belong to " + images.string() + ": expected " + std::to_string(count) +
               " labels, one per image, found " + std::to_string(label_count));
  }

  pictures.expect(std::uint64_t{count} * result.features());
  names.expect(count);
  detail::idx::elements(pictures, result.pixels, count * result.features(), "pixels");
  detail::idx::elements(names, result.labels, count, "labels");
  result.classes = *std::ranges::max_element(result.labels) + std::size_t{1};
  return result;
}

TUTTI_DECL data_pair read_idx_folder(std::filesystem::path const& folder) {
  auto const sets = detail::idx_sets(folder);
  if (sets.size() > 1) {
    auto const name = [](detail::idx_set const& set) { return detail::idx_file_name(set.prefix, 0); };
    throw data_error(folder.string() + " holds several data sets, those of " + name(sets[0]) + " and of " +
                     name(sets[1]) + ": put each data set into a folder of its own");
  }
  auto const& [prefix, files] = sets.empty() ? detail::idx_set{} : sets[0];
  std::string missing;
  for (std::size_t i = 0; i != files.size(); ++i) {
    missing += files[i].empty() ? "\n  " + detail::idx_file_name(prefix, i) : "";
  }
  if (!missing.empty()) {
    throw data_error(detail::should_hold(folder) +
                     " these files, plain or with .gz at the end, but does not:" + missing);
  }
  data_pair result{read_idx(files[0], files[1]), read_idx(files[2], files[3])};
  if (auto const& [training_shape, test_shape] = std::pair{result.training.shape, result.test.shape};
      training_shape != test_shape) {
    throw data_error(folder.string() + " does not hold one data set: the training images have " +
                     std::to_string(training_shape.rows) + " x " + std::to_string(training_shape.columns) +
                     " pixels, the test images " + std::to_string(test_shape.rows) + " x " +
                     std::to_string(test_shape.columns));
  }
  detail::count_classes(result);
  if (prefix.starts_with("emnist-")) {
    detail::idx::transpose(result.training);
    detail::idx::transpose(result.test);
  }
  return result;
}

}  // namespace tutti::nn
