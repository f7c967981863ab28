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

struct gzFile_s;  // declared in zlib.h

namespace tutti::inline v0_1_0::nn::detail::inline data {

/// Reads a file sequentially, decompressed if it is in gzip format. Every problem is a data_error with the file's
/// name.
///
/// A compressed file may expand to a hundred times its size, or to 256 MiB: images never compress better, and a
/// larger file might exhaust the memory. Uncompressed files may have any size.
class gz_file {
 public:
  explicit gz_file(std::filesystem::path const& path);
  ~gz_file();
  gz_file(gz_file const&) = delete;
  gz_file& operator=(gz_file const&) = delete;

  [[noreturn]] void fail(std::string const& reason) const;

  /// Announces the size of the data before memory is allocated for it.
  /// @throws data_error if the file is compressed, and too small for that size
  void expect(std::uint64_t bytes) const;

  /// Reads the next bytes, as many as fit.
  /// @returns their number: less only at the end of the file
  std::size_t read(std::span<std::uint8_t> destination);

  /// Appends the next bytes to `destination`, at most `count`. Reads in pieces, so that a false size in a header costs
  /// no more memory than the file's contents.
  /// @returns their number: less than `count` only at the end of the file
  std::size_t append(std::vector<std::uint8_t>& destination, std::size_t count);

 private:
  static constexpr std::uint64_t max_unpacked_bytes = 256U << 20;
  static constexpr std::uint64_t max_expansion = 100;

  std::string path_;
  ::gzFile_s* file_ = nullptr;
  std::uint64_t max_bytes_ = UINT64_MAX;
  std::uint64_t unpacked_bytes_ = 0;
};

}  // namespace tutti::nn::detail::data

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/data/gz_file.ipp>
#endif
