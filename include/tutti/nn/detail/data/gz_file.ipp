// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/standard_numbers.hpp>
#include <tutti/nn/detail/data/gz_file.hpp>

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline data {

TUTTI_DECL gz_file::gz_file(std::filesystem::path const& path) : path_(path.string()) {
  std::error_code ignored_error;
  if (std::filesystem::is_directory(path, ignored_error)) {
    fail("is a folder, not a file; name a file in it");
  }
  tutti::detail::standard_numbers const reserved_numbers;
  file_ = gzopen(path_.c_str(), "rb");
  if (file_ == nullptr) {
    fail("cannot be opened: " + std::string(errno != 0 ? std::strerror(errno) : "out of memory"));
  }
  gzbuffer(file_, 1 << 17);
  if (gzdirect(file_) == 0) {
    auto const packed_size = std::filesystem::file_size(path, ignored_error);
    max_bytes_ = (std::max)(max_unpacked_bytes, ignored_error ? 0 : max_expansion * packed_size);
  }
}

TUTTI_DECL gz_file::~gz_file() {
  gzclose(file_);
}

TUTTI_DECL void gz_file::fail(std::string const& reason) const {
  throw data_error(path_ + " " + reason);
}

TUTTI_DECL void gz_file::expect(std::uint64_t bytes) const {
  if (bytes > max_bytes_) {
    fail("unpacks to more than " + std::to_string(max_bytes_) + " bytes, more than " + std::to_string(max_expansion) +
         " times its size, which images do not reach; if it is correct, unpack it (gunzip) and read that file");
  }
}

TUTTI_DECL std::size_t gz_file::read(std::span<std::uint8_t> destination) {
  int const byte_count = gzread(file_, destination.data(), static_cast<unsigned>(destination.size()));
  int code = Z_OK;
  std::string_view text = gzerror(file_, &code);
  text.remove_prefix(text.starts_with(path_ + ": ") ? path_.size() + 2 : 0);  // `fail` names the file
  if (code == Z_BUF_ERROR) {
    fail("is truncated: its gzip stream ends too early");
  }
  if (byte_count < 0) {
    fail("cannot be read: " + (code == Z_ERRNO ? std::string(std::strerror(errno)) : std::string(text)));
  }
  unpacked_bytes_ += static_cast<std::uint64_t>(byte_count);
  expect(unpacked_bytes_);
  return static_cast<std::size_t>(byte_count);
}

TUTTI_DECL std::size_t gz_file::append(std::vector<std::uint8_t>& destination, std::size_t count) {
  constexpr std::size_t min_piece = 1U << 16;
  constexpr std::size_t max_piece = 1U << 24;
  std::size_t total = 0;
  while (total != count) {
    std::size_t const piece = (std::min)(count - total, std::clamp(total, min_piece, max_piece));
    std::size_t const old = destination.size();
    destination.resize(old + piece);
    std::size_t const byte_count = read(std::span(destination).subspan(old));
    total += byte_count;
    if (byte_count != piece) {
      destination.resize(old + byte_count);
      break;
    }
  }
  return total;
}

}  // namespace tutti::nn::detail::data
