// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/nn/checkpoint/base/error.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

/// A file that exists completely or not at all, even after a power failure: it is written under another name in the
/// same folder, flushed to the disk, and then renamed. The file that it replaces stays intact until then; folders and
/// devices are not replaced.
///
/// (Pillai et al., "All file systems are not created equal", OSDI 2014: without a request, file systems preserve
/// neither the order of the two writes nor the rename.)
class atomic_file {
 public:
  /// The end of the name under which a file is written.
  static constexpr std::string_view draft_ending = ".draft";

  /// @throws checkpoint_error with the file's name and the reason
  explicit atomic_file(std::filesystem::path name);
  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;
  /// Removes the draft unless `commit` was called.
  ~atomic_file();

  /// @throws full_disk; checkpoint_error
  void write(std::span<std::byte const> bytes);

  /// Renames the file to its final name. Cost: waits for the disk, twice.
  void commit();

  /// Flushes a folder's list of names to the disk.
  /// @throws checkpoint_error
  static void sync_folder(std::filesystem::path const& folder);

 private:
  [[noreturn]] void fail(int code) const;

  std::filesystem::path name_;
  std::string draft_;  // empty after the rename
  tutti::detail::descriptor file_;
};

}  // namespace tutti::nn::detail::checkpoint

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/checkpoint/atomic_file.ipp>
#endif
