// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

struct gzFile_s;  // of zlib.h

namespace tutti::inline v0_1_0::nn::detail::inline data {

/// A file that is read from its start to its end, unpacked if it is packed with gzip. What goes wrong is a data_error
/// that names it.
///
/// A packed file may unpack to a hundred times its size, or to 256 MiB: images never do so much better, and a file
/// that does would fill the memory. A file that is not packed may have any size.
class gz_file {
 public:
  explicit gz_file(std::filesystem::path const& path);
  ~gz_file();
  gz_file(gz_file const&) = delete;
  gz_file& operator=(gz_file const&) = delete;

  [[noreturn]] void fail(std::string const& why) const;

  /// Says how many bytes the file is to have, before there is room for them.
  /// @throws data_error if it is packed, and so small that they cannot be images
  void expect(std::uint64_t bytes) const;

  /// As many of the next bytes as there are room for.
  /// @returns how many: less only at the end of the file
  std::size_t read(std::span<std::uint8_t> to);

  /// Appends the next bytes to `to`, at most `count`. Reads in pieces, so that a header that promises
  /// too much costs no more memory than the file holds.
  /// @returns how many: less than `count` only at the end of the file
  std::size_t append(std::vector<std::uint8_t>& to, std::size_t count);

 private:
  static constexpr std::uint64_t most_unpacked = 256U << 20;
  static constexpr std::uint64_t most_times = 100;

  std::string path_;
  ::gzFile_s* file_ = nullptr;
  std::uint64_t most_ = UINT64_MAX;
  std::uint64_t unpacked_ = 0;
};

}  // namespace tutti::nn::detail::data

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/data/gz_file.ipp>
#endif
