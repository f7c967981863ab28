// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/dataset.hpp>
#include <tutti/nn/detail/data/gz_file.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::nn {

/// Reads files in the idx format of MNIST, plain or compressed with gzip.
///
/// Format: two zero bytes, 8 for bytes, the number of dimensions, each dimension as 32 bits (most
/// significant byte first), then the elements.
namespace idx {

inline constexpr std::uint32_t images_magic = 0x0803;  ///< bytes, three dimensions
inline constexpr std::uint32_t labels_magic = 0x0801;  ///< bytes, one dimension

/// The next 32 bits of a header.
inline std::uint32_t word(detail::gz_file& file, std::string const& what) {
  std::array<std::uint8_t, 4> bytes{};
  std::size_t const got = file.read(bytes);
  if (got != bytes.size()) {
    file.fail("is truncated: expected 4 bytes of the header, " + what + ", found " + std::to_string(got));
  }
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

/// The rest of the file, which is `count` bytes.
inline void elements(detail::gz_file& file, std::vector<std::uint8_t>& to, std::size_t count, std::string const& what) {
  if (std::size_t const got = file.append(to, count); got != count) {
    file.fail("is truncated: expected " + std::to_string(count) + " bytes of " + what + ", found " +
              std::to_string(got));
  }
  if (std::array<std::uint8_t, 1> byte{}; file.read(byte) != 0) {
    file.fail("goes on after the last element that its header announces");
  }
}

inline std::string in_hex(std::uint32_t word) {
  std::string text = "0x00000000";
  for (std::size_t i = 0; i != 8; ++i) {
    text[9 - i] = "0123456789abcdef"[word >> 4 * i & 15U];
  }
  return text;
}

inline void expect_magic(detail::gz_file& file, std::uint32_t expected) {
  auto const meaning = [](std::uint32_t magic) {
    return std::string(magic == images_magic ? " (idx images)" : magic == labels_magic ? " (idx labels)" : "");
  };
  std::uint32_t const found = word(file, "the magic number");
  if (found != expected) {
    file.fail("is not what it should be: expected the magic number " + in_hex(expected) + meaning(expected) +
              ", found " + in_hex(found) + meaning(found));
  }
}

/// By what names the files of a folder go: the training images (0) and labels (1), those of the test.
inline std::array<std::string, 4> names(std::size_t which) {
  constexpr std::array<std::string_view, 4> parts{"train-images", "train-labels", "t10k-images", "t10k-labels"};
  auto const part = std::string(parts[which]);
  auto const kind = std::string(which % 2 == 0 ? "idx3-ubyte" : "idx1-ubyte");
  return {part + "-" + kind, part + "-" + kind + ".gz", part + "." + kind, part + "." + kind + ".gz"};
}

/// The four files of a folder; no path where one is missing.
inline std::array<std::filesystem::path, 4> files(std::filesystem::path const& folder) {
  std::array<std::filesystem::path, 4> found;
  for (std::size_t i = 0; i != found.size(); ++i) {
    for (auto const& name : names(i)) {
      std::error_code ignored;
      if (found[i].empty() && std::filesystem::exists(folder / name, ignored)) {
        found[i] = folder / name;
      }
    }
  }
  return found;
}

}  // namespace idx

/// The data set in a file of images and a file of labels.
/// @throws data_error if one is missing, truncated, longer than announced or of another kind, if their
/// counts differ, or if a label is not below `classes`
[[nodiscard]] inline dataset read_idx(std::filesystem::path const& images, std::filesystem::path const& labels,
                                      std::size_t classes = 10) {
  dataset result;
  result.classes = classes;
  detail::gz_file pictures(images);
  idx::expect_magic(pictures, idx::images_magic);
  std::size_t const count = idx::word(pictures, "the number of images");
  image_shape& shape = result.shape;
  shape.rows = idx::word(pictures, "the rows of an image");
  shape.columns = idx::word(pictures, "the columns of an image");
  if (count == 0 || shape.rows == 0 || shape.columns == 0 || shape.rows > 4096 || shape.columns > 4096) {
    pictures.fail("has no usable header: expected at least one image of 1 x 1 to 4096 x 4096 pixels, found " +
                  std::to_string(count) + " of " + std::to_string(shape.rows) + " x " + std::to_string(shape.columns));
  }

  detail::gz_file names(labels);
  idx::expect_magic(names, idx::labels_magic);
  std::size_t const named = idx::word(names, "the number of labels");
  if (named != count) {
    names.fail("does not belong to " + images.string() + ": expected " + std::to_string(count) +
               " labels, one per image, found " + std::to_string(named));
  }

  pictures.expect(std::uint64_t{count} * result.features());
  names.expect(count);
  idx::elements(pictures, result.pixels, count * result.features(), "pixels");
  idx::elements(names, result.labels, count, "labels");
  for (std::size_t i = 0; i != count; ++i) {
    if (result.labels[i] >= classes) {
      names.fail("is mislabelled: expected labels from 0 to " + std::to_string(classes - 1) + ", found " +
                 std::to_string(result.labels[i]) + " for image " + std::to_string(i));
    }
  }
  return result;
}

/// The sets in a folder that holds the four files of MNIST, or of a set published the same way, plain
/// or with .gz, named `train-images-idx3-ubyte` or `train-images.idx3-ubyte` and so on.
/// @throws data_error that lists the files looked for, if one is missing, or as read_idx
[[nodiscard]] inline data_pair read_idx_folder(std::filesystem::path const& folder) {
  auto const found = idx::files(folder);
  std::string missing;
  for (std::size_t i = 0; i != found.size(); ++i) {
    if (found[i].empty()) {
      std::string looked_for;
      for (auto const& name : idx::names(i)) {
        looked_for += (looked_for.empty() ? "\n  " : " or ") + name;
      }
      missing += looked_for;
    }
  }
  if (!missing.empty()) {
    std::error_code ignored;
    throw data_error(folder.string() + (std::filesystem::is_directory(folder, ignored) ? "" : " is not a folder; it") +
                     " should hold these files, but does not:" + missing);
  }
  data_pair result;
  result.training = read_idx(found[0], found[1]);
  result.test = read_idx(found[2], found[3]);
  if (auto const& [trained, tested] = std::pair{result.training.shape, result.test.shape}; trained != tested) {
    throw data_error(folder.string() + " does not hold one data set: the training images have " +
                     std::to_string(trained.rows) + " x " + std::to_string(trained.columns) +
                     " pixels, the test images " + std::to_string(tested.rows) + " x " +
                     std::to_string(tested.columns));
  }
  return result;
}

}  // namespace tutti::nn
