// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/data/cifar.hpp>
#include <tutti/nn/detail/data/gz_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline data {

/// The binary version of CIFAR-10 and CIFAR-100 (Krizhevsky, "Learning multiple layers of features from tiny images",
/// 2009), plain or compressed with gzip.
///
/// Format: records of one or two labels and 32 x 32 pixels, first all red bytes, then all green, then all blue ones.
/// There is no header: only the length and the labels show that a file is valid.
namespace cifar {

inline constexpr image_shape shape{3, 32, 32};

/// The kind of file that the bytes suggest, if not images and labels; empty if unknown.
TUTTI_DECL std::string_view looks_like(cifar_kind const& kind, std::span<std::uint8_t const> bytes) {
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
    return "a file of CIFAR's version for Python: the binary version is wanted";
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
  for (auto const& other : {cifar_10, cifar_100}) {
    if (other.label_bytes != kind.label_bytes && !bytes.empty() &&
        bytes.size() % (other.label_bytes + shape.size()) == 0) {
      return other.label_bytes == 1 ? "a file of CIFAR-10: its records have 3073 bytes"
                                    : "a file of CIFAR-100: its records have 3074 bytes";
    }
  }
  return {};
}

/// Appends the images of one file.
TUTTI_DECL void append(dataset& set, cifar_kind const& kind, std::filesystem::path const& path) {
  gz_file file(path);
  std::vector<std::uint8_t> bytes;
  file.append(bytes, SIZE_MAX);
  std::size_t const record = kind.label_bytes + shape.size();
  std::size_t const images = bytes.size() / record;
  auto const fail = [&](std::string const& reason) {
    auto const description = looks_like(kind, bytes);
    file.fail(description.empty() ? reason
                                  : "is not a file of " + std::string(kind.name) + " but " + std::string(description) +
                                        " (" + reason + ")");
  };
  if (bytes.size() % record != 0 || images == 0) {
    fail("is truncated: expected whole images of " + std::to_string(record) + " bytes, found " +
         std::to_string(images) + " and " + std::to_string(bytes.size() % record) + " bytes more");
  }
  for (std::size_t i = 0; i != images; ++i) {
    if (auto const label = bytes[i * record + kind.label_bytes - 1]; label >= kind.classes) {
      fail("is mislabelled: expected labels from 0 to " + std::to_string(kind.classes - 1) + ", found " +
           std::to_string(label) + " for image " + std::to_string(i));
    }
  }
  set.labels.reserve(set.labels.size() + images);
  set.pixels.reserve(set.pixels.size() + images * shape.size());
  for (auto rest = std::span(bytes); !rest.empty(); rest = rest.subspan(record)) {
    set.labels.push_back(rest[kind.label_bytes - 1]);
    auto const pixels = rest.subspan(kind.label_bytes, shape.size());
    set.pixels.insert(set.pixels.end(), pixels.begin(), pixels.end());
  }
}

}  // namespace cifar

TUTTI_DECL dataset read_cifar(cifar_kind const& kind, std::span<std::filesystem::path const> files) {
  dataset result;
  result.shape = cifar::shape;
  result.classes = kind.classes;
  for (auto const& path : files) {
    cifar::append(result, kind, path);
  }
  return result;
}

TUTTI_DECL std::vector<std::string> read_class_names(std::filesystem::path const& file, std::size_t classes) {
  std::vector<std::string> names;
  if (std::error_code ignored_error; !std::filesystem::exists(file, ignored_error)) {
    return names;
  }
  gz_file text(file);
  std::vector<std::uint8_t> bytes;
  text.append(bytes, SIZE_MAX);
  std::string name;
  for (std::uint8_t const byte : bytes) {
    if (byte != '\n') {
      name.append(byte == '\r' ? 0 : 1, static_cast<char>(byte));
    } else if (!name.empty()) {
      names.push_back(std::exchange(name, {}));
    }
  }
  if (!name.empty()) {
    names.push_back(name);
  }
  if (names.size() != classes) {
    text.fail("should have the names of the classes, one a line: expected " + std::to_string(classes) + ", found " +
              std::to_string(names.size()));
  }
  return names;
}

}  // namespace tutti::nn::detail::data
