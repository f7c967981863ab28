// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/cifar10.hpp>
#include <tutti/nn/detail/data/file_names.hpp>
#include <tutti/nn/detail/data/gz_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

/// The binary version of CIFAR-10 (Krizhevsky, "Learning multiple layers of features from tiny images",
/// 2009), plain or compressed with gzip.
///
/// Format: records of one label and 32 x 32 pixels, first all red bytes, then all green, then all blue ones. There is
/// no header: only the length and the labels show that a file is valid.
namespace cifar10 {

inline constexpr image_shape shape{3, 32, 32};
inline constexpr std::size_t classes = 10;
inline constexpr std::size_t record = 1 + shape.size();  ///< bytes of a record

/// The kind of file that the bytes suggest, if not images and labels; empty if unknown.
TUTTI_DECL std::string_view looks_like(std::span<std::uint8_t const> bytes) {
  auto const has = [&](std::size_t at, std::string_view sign) {
    return bytes.size() >= at + sign.size() && std::ranges::equal(bytes.subspan(at, sign.size()), sign, {}, {},
                                                                  [](char c) { return static_cast<std::uint8_t>(c); });
  };
  using namespace std::string_view_literals;
  if (has(257, "ustar")) {
    return "a tar archive: unpack it first";
  }
  if (has(0, "\0\0\x08\x03"sv) || has(0, "\0\0\x08\x01"sv)) {
    return "an idx file, such as those of MNIST";
  }
  if (has(0, "\x80\x02"sv) || has(0, "\x80\x03"sv) || has(0, "\x80\x04"sv)) {
    return "a file of CIFAR-10's version for Python: the binary version is wanted";
  }
  if (has(0, "\x1f\x8b"sv)) {
    return "compressed twice";
  }
  if (has(0, "PK\x03\x04"sv)) {
    return "a zip archive: unpack it first";
  }
  if (has(0, "\x89PNG"sv)) {
    return "a PNG picture";
  }
  if (!bytes.empty() && bytes.size() % 3074 == 0) {
    return "a file of CIFAR-100: its records have 3074 bytes";
  }
  return {};
}

/// Appends the images of one file.
TUTTI_DECL void append(dataset& set, std::filesystem::path const& path) {
  gz_file file(path);
  std::vector<std::uint8_t> bytes;
  file.append(bytes, SIZE_MAX);
  std::size_t const images = bytes.size() / record;
  auto const fail = [&](std::string const& reason) {
    auto const description = looks_like(bytes);
    file.fail(description.empty() ? reason
                                  : "is not a batch of CIFAR-10 but " + std::string(description) + " (" + reason + ")");
  };
  if (bytes.size() % record != 0 || images == 0) {
    fail("is truncated: expected whole images of " + std::to_string(record) + " bytes, found " +
         std::to_string(images) + " and " + std::to_string(bytes.size() % record) + " bytes more");
  }
  for (std::size_t i = 0; i != images; ++i) {
    if (bytes[i * record] >= classes) {
      fail("is mislabelled: expected labels from 0 to 9, found " + std::to_string(bytes[i * record]) + " for image " +
           std::to_string(i));
    }
  }
  set.labels.reserve(set.labels.size() + images);
  set.pixels.reserve(set.pixels.size() + images * shape.size());
  for (auto rest = std::span(bytes); !rest.empty(); rest = rest.subspan(record)) {
    set.labels.push_back(rest[0]);
    auto const pixels = rest.subspan(1, shape.size());
    set.pixels.insert(set.pixels.end(), pixels.begin(), pixels.end());
  }
}

}  // namespace cifar10

}  // namespace tutti::nn::detail

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL dataset read_cifar10(std::span<std::filesystem::path const> files) {
  if (files.empty()) {
    throw data_error("cifar10: there must be 1 file or more to read, not 0");
  }
  dataset result;
  result.shape = detail::cifar10::shape;
  result.classes = detail::cifar10::classes;
  for (auto const& path : files) {
    detail::cifar10::append(result, path);
  }
  return result;
}

TUTTI_DECL data_pair read_cifar10_folder(std::filesystem::path const& folder) {
  auto const training = detail::cifar10_files(folder, "data_batch");
  auto const test = detail::cifar10_files(folder, "test_batch");
  if (training.empty() || test.empty()) {
    std::error_code ignored_error;
    throw data_error(folder.string() +
                     (std::filesystem::is_directory(folder, ignored_error) ? "" : " is not a folder; it") +
                     " should hold these files, but does not:" +
                     (training.empty() ? "\n  data_batch_1.bin or data_batch_1.bin.gz, and so on" : "") +
                     (test.empty() ? "\n  test_batch.bin or test_batch.bin.gz" : ""));
  }
  return {read_cifar10(training), read_cifar10(test)};
}

}  // namespace tutti::nn
