// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/dataset.hpp>

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
#include <vector>

namespace tutti::nn::detail {

/// A file that is read from its start to its end, unpacked if it is packed with gzip. What goes wrong is a data_error
/// that names it.
///
/// A packed file may unpack to a hundred times its size, or to 256 MiB: images never do so much better, and a file
/// that does would fill the memory. A file that is not packed may have any size.
class gz_file {
 public:
  explicit gz_file(std::filesystem::path const& path) : path_(path.string()) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      fail("is a folder, not a file");
    }
    file_ = gzopen(path_.c_str(), "rb");
    if (file_ == nullptr) {
      fail("cannot be opened: " + std::string(errno != 0 ? std::strerror(errno) : "out of memory"));
    }
    gzbuffer(file_, 1 << 17);
    if (gzdirect(file_) == 0) {
      auto const packed = std::filesystem::file_size(path, ignored);
      most_ = std::max(most_unpacked, ignored ? 0 : most_times * packed);
    }
  }
  ~gz_file() { gzclose(file_); }
  gz_file(gz_file const&) = delete;
  gz_file& operator=(gz_file const&) = delete;

  [[noreturn]] void fail(std::string const& why) const { throw data_error(path_ + " " + why); }

  /// Says how many bytes the file is to have, before there is room for them.
  /// @throws data_error if it is packed, and so small that they cannot be images
  void expect(std::uint64_t bytes) const {
    if (bytes > most_) {
      fail("unpacks to more than " + std::to_string(most_) + " bytes, more than " + std::to_string(most_times) +
           " times its size, as no images do: if it is right nevertheless, unpack it (gunzip) and read that file");
    }
  }

  /// As many of the next bytes as there are room for.
  /// @returns how many: less only at the end of the file
  std::size_t read(std::span<std::uint8_t> to) {
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

  /// Appends the next bytes to `to`, at most `count`. Reads in pieces, so that a header that promises
  /// too much costs no more memory than the file holds.
  /// @returns how many: less than `count` only at the end of the file
  std::size_t append(std::vector<std::uint8_t>& to, std::size_t count) {
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

 private:
  static constexpr std::uint64_t most_unpacked = 256U << 20;
  static constexpr std::uint64_t most_times = 100;

  std::string path_;
  gzFile file_ = nullptr;
  std::uint64_t most_ = UINT64_MAX;
  std::uint64_t unpacked_ = 0;
};

}  // namespace tutti::nn::detail
