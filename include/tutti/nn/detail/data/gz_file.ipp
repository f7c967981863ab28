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
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    fail("is a folder, not a file; name a file in it");
  }
  tutti::detail::standard_numbers const occupied;
  file_ = gzopen(path_.c_str(), "rb");
  if (file_ == nullptr) {
    fail("cannot be opened: " + std::string(errno != 0 ? std::strerror(errno) : "out of memory"));
  }
  gzbuffer(file_, 1 << 17);
  if (gzdirect(file_) == 0) {
    auto const packed = std::filesystem::file_size(path, ignored);
    most_ = (std::max)(most_unpacked, ignored ? 0 : most_times * packed);
  }
}

TUTTI_DECL gz_file::~gz_file() {
  gzclose(file_);
}

TUTTI_DECL void gz_file::fail(std::string const& why) const {
  throw data_error(path_ + " " + why);
}

TUTTI_DECL void gz_file::expect(std::uint64_t bytes) const {
  if (bytes > most_) {
    fail("unpacks to more than " + std::to_string(most_) + " bytes, more than " + std::to_string(most_times) +
         " times its size, which images do not reach; if it is correct, unpack it (gunzip) and read that file");
  }
}

TUTTI_DECL std::size_t gz_file::read(std::span<std::uint8_t> to) {
  int const got = gzread(file_, to.data(), static_cast<unsigned>(to.size()));
  int code = Z_OK;
  std::string_view text = gzerror(file_, &code);
  text.remove_prefix(text.starts_with(path_ + ": ") ? path_.size() + 2 : 0);  // `fail` names the file
  if (code == Z_BUF_ERROR) {
    fail("is truncated: its gzip stream ends too early");
  }
  if (got < 0) {
    fail("cannot be read: " + (code == Z_ERRNO ? std::string(std::strerror(errno)) : std::string(text)));
  }
  unpacked_ += static_cast<std::uint64_t>(got);
  expect(unpacked_);
  return static_cast<std::size_t>(got);
}

TUTTI_DECL std::size_t gz_file::append(std::vector<std::uint8_t>& to, std::size_t count) {
  constexpr std::size_t most = 1U << 24;
  std::size_t done = 0;
  while (done != count) {
    std::size_t const piece = count - done < most ? count - done : most;
    std::size_t const old = to.size();
    to.resize(old + piece);
    std::size_t const got = read(std::span(to).subspan(old));
    done += got;
    if (got != piece) {
      to.resize(old + got);
      break;
    }
  }
  return done;
}

}  // namespace tutti::nn::detail::data
