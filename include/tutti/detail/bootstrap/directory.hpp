// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/linkage.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail {

/// The contents of a file; nothing, and errno, if it cannot be read.
[[nodiscard]] TUTTI_DECL std::optional<std::string> read_file(std::string const& path);

/// A directory through which processes exchange small files. A file is there with all of its
/// contents or not at all.
class directory {
 public:
  /// Opens `path`, and makes it (not its parents) if need be, for this user alone.
  /// @throws error(failure::join) if that fails, or if others could put files into it
  explicit directory(std::string path);

  [[nodiscard]] std::string const& path() const noexcept { return path_; }

  /// Puts a file there, in place of one of that name.
  void write(std::string const& name, std::string_view contents);

  /// The contents of a file, if it is there.
  [[nodiscard]] std::optional<std::string> read(std::string const& name) const;

  /// The names of the files that begin with `prefix`.
  [[nodiscard]] std::vector<std::string> list(std::string_view prefix) const;

  void remove(std::string const& name) const noexcept;

  /// Removes the directory if nothing is in it.
  void remove_if_empty() const noexcept;

 private:
  void make() const;
  void store(int fd, std::string_view contents) const;
  [[noreturn]] void fail(char const* what, int code) const;

  std::string path_;
  std::string self_;
};

}  // namespace tutti::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/impl/bootstrap/directory.ipp>
#endif
