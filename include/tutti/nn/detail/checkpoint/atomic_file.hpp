// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/nn/checkpoint/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <sys/stat.h>
#include <utility>

namespace tutti::nn::detail {

/// A file that is there with all of its contents or not at all, whenever the power fails: written under another
/// name in the same folder, put onto the disk, and then renamed. What it replaces stays whole until then.
///
/// (Pillai et al., "All file systems are not created equal", OSDI 2014: neither the order of the two writes nor
/// the rename itself is kept by a file system without a request.)
class atomic_file {
 public:
  /// @throws checkpoint_error that names the file and says why
  explicit atomic_file(std::filesystem::path name)
      : name_(std::move(name)),
        draft_(name_.string() + ".draft"),
        file_(::open(draft_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666)) {
    if (!file_) {
      fail(errno);
    }
  }
  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;
  /// Without `commit` nothing was written.
  ~atomic_file() {
    if (!draft_.empty()) {
      ::unlink(draft_.c_str());
    }
  }

  void write(std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
      constexpr std::size_t most = std::size_t{1} << 30;  // Linux writes no more than 2 GiB at once
      ssize_t const put = ::write(file_.get(), bytes.data(), std::min(bytes.size(), most));
      if (put > 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(put));
      } else if (put == 0 || errno != EINTR) {
        fail(put == 0 ? ENOSPC : errno);
      }
    }
  }

  /// Puts the file in its place. Cost: waits for the disk, twice.
  void commit() {
    // close may be the first to say that a disk is full or over quota (NFS): so it is called before the rename.
    if (::fsync(file_.get()) != 0 || ::close(file_.release()) != 0) {
      fail(errno);
    }
    if (::rename(draft_.c_str(), name_.c_str()) != 0) {
      fail(errno);
    }
    draft_.clear();
    sync_folder(name_.parent_path());
  }

  /// Puts onto the disk which names a folder holds.
  /// @throws checkpoint_error
  static void sync_folder(std::filesystem::path const& folder) {
    tutti::detail::descriptor const f(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!f || (::fsync(f.get()) != 0 && errno != EINVAL && errno != ENOTSUP)) {  // some cannot, and need not
      throw checkpoint_error("the folder " + folder.string() +
                             " cannot be put onto the disk: " + tutti::detail::describe_errno(errno));
    }
  }

 private:
  [[noreturn]] void fail(int code) const {
    throw checkpoint_error(name_.string() + " cannot be written: " + tutti::detail::describe_errno(code) +
                           (code == ENOSPC || code == EDQUOT ? "; make room there" : "") +
                           (code == EFBIG ? "; it is larger than the file system or ulimit -f allows" : ""));
  }

  std::filesystem::path name_;
  std::string draft_;  // empty once it is in its place
  tutti::detail::descriptor file_;
};

}  // namespace tutti::nn::detail
