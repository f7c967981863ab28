// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/nn/checkpoint/base/error.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

/// A file that is there with all of its contents or not at all, whenever the power fails: written under another
/// name in the same folder, put onto the disk, and then renamed. What it replaces stays whole until then.
///
/// (Pillai et al., "All file systems are not created equal", OSDI 2014: neither the order of the two writes nor
/// the rename itself is kept by a file system without a request.)
class atomic_file {
 public:
  /// @throws checkpoint_error that names the file and says why
  explicit atomic_file(std::filesystem::path name);
  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;
  /// Without `commit` nothing was written.
  ~atomic_file();

  void write(std::span<std::byte const> bytes);

  /// Puts the file in its place. Cost: waits for the disk, twice.
  void commit();

  /// Puts onto the disk which names a folder holds.
  /// @throws checkpoint_error
  static void sync_folder(std::filesystem::path const& folder);

 private:
  [[noreturn]] void fail(int code) const;

  std::filesystem::path name_;
  std::string draft_;  // empty once it is in its place
  tutti::detail::descriptor file_;
};

}  // namespace tutti::nn::detail::checkpoint

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/checkpoint/atomic_file.ipp>
#endif
