// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/checkpoint/atomic_file.hpp>

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

TUTTI_DECL atomic_file::atomic_file(std::filesystem::path name)
    : name_(std::move(name)),
      draft_(name_.string().append(draft_ending)),
      file_([&] { return ::open(draft_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666); }) {
  if (!file_) {
    fail(errno);
  }
  std::error_code none;
  if (auto const status = std::filesystem::status(name_, none); exists(status) && !is_regular_file(status)) {
    ::unlink(draft_.c_str());
    throw checkpoint_error(name_.string() + " is a folder or a device, which a file must not replace; name a file");
  }
}

TUTTI_DECL atomic_file::~atomic_file() {
  if (!draft_.empty()) {
    ::unlink(draft_.c_str());
  }
}

TUTTI_DECL void atomic_file::write(std::span<std::byte const> bytes) {
  if (int const code = tutti::detail::write_file(file_.get(), bytes); code != 0) {
    fail(code);
  }
}

TUTTI_DECL void atomic_file::commit() {
  // Closes before the rename, because close may be the first call to report a full disk or an exceeded quota (NFS).
  if (::fsync(file_.get()) != 0 || ::close(file_.release()) != 0) {
    fail(errno);
  }
  if (::rename(draft_.c_str(), name_.c_str()) != 0) {
    fail(errno);
  }
  draft_.clear();
  sync_folder(name_.parent_path());
}

TUTTI_DECL void atomic_file::sync_folder(std::filesystem::path const& folder) {
  tutti::detail::descriptor const f(
      [&] { return ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  // Some file systems cannot flush folders, and need not.
  if (!f || (::fsync(f.get()) != 0 && errno != EINVAL && errno != ENOTSUP)) {
    throw checkpoint_error("the folder " + folder.string() +
                           " cannot be put onto the disk: " + tutti::detail::describe_errno(errno));
  }
}

TUTTI_DECL void atomic_file::fail(int code) const {
  std::string const text = name_.string() + " cannot be written: " + tutti::detail::describe_write_error(code);
  if (code == ENOSPC || code == EDQUOT) {
    throw full_disk(text);
  }
  throw checkpoint_error(text);
}

}  // namespace tutti::nn::detail::checkpoint
