// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/dataset.hpp>

#include <zlib.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::nn {

/// A file that is read from its start to its end, unpacked if it is packed with gzip. What goes wrong
/// is a data_error that names it.
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
  }
  ~gz_file() { gzclose(file_); }
  gz_file(gz_file const&) = delete;
  gz_file& operator=(gz_file const&) = delete;

  [[noreturn]] void fail(std::string const& why) const { throw data_error(path_ + " " + why); }

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
  std::string path_;
  gzFile file_ = nullptr;
};

}  // namespace tutti::nn
