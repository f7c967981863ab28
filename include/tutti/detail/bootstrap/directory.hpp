// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/proof.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The contents of a file of at most `limit` bytes. Returns nothing and sets errno if it cannot be read or is longer
/// (EFBIG).
[[nodiscard]] TUTTI_DECL std::optional<std::string> read_file(std::string const& path, std::size_t limit);

/// A folder of the library's own, below a place that the user names, for small files that processes exchange. A file
/// is visible with all of its contents or not at all.
///
/// Nothing else in the place is read, changed or removed, nor is the place itself. Files are reached through the open
/// folder and never through a link. Only regular files of this user are read, up to a length that the reader gives.
///
/// With a key, each file ends with a proof of its name and contents, and a mark has one in its name. Files and marks
/// without it, links and longer files, which another program of this user may have made, count as missing. Such a file
/// is not read again until it changes.
class directory {
 public:
  /// Opens the folder `name` below `place`. Creates both if they are missing, but no parent of the place, for this
  /// user alone.
  /// @param key the world's for this folder, or none
  /// @throws error(failure::join) if that fails, if other users could put files there, or if nothing can be written
  directory(std::string place, std::string name, net::proof_key const& key = {});

  /// The path of the folder.
  [[nodiscard]] std::string path() const { return place_ + "/" + name_; }

  /// Puts a file there and replaces one of the same name.
  /// @throws error(failure::join)
  void write(std::string const& name, std::string_view contents);

  /// Puts an empty file there, which succeeds on a full disk. Ignores errors.
  void mark(std::string const& name) const;

  /// The names of the marks that begin with `prefix`.
  [[nodiscard]] std::vector<std::string> marks(std::string_view prefix) const;

  /// The contents of a file, if it exists.
  /// @throws error(failure::join) if there is no key, and it is anything but a regular file of this user of at most
  ///         `limit` bytes
  [[nodiscard]] std::optional<std::string> read(std::string const& name, std::size_t limit) const;

  /// The paths of the first 16 files that counted as missing, with reasons.
  [[nodiscard]] std::vector<std::string> forgeries() const;

  /// The names of the files that begin with `prefix`.
  [[nodiscard]] std::vector<std::string> list(std::string_view prefix) const;

  void remove(std::string const& name) const noexcept;

  /// Removes the folder if it is empty and only this user may write there.
  void remove_if_empty() const noexcept;

 private:
  /// A file that counts as missing, until its status is another.
  struct forgery {
    std::string name;
    std::string reason;
    struct stat status;
  };

  void note_forgery(std::string const& name, std::string const& reason, struct stat const& status) const;
  [[nodiscard]] descriptor try_open() const noexcept;
  [[nodiscard]] descriptor open() const;
  [[nodiscard]] descriptor make() const;
  [[nodiscard]] std::string proof_of_mark(std::string_view name) const;
  [[nodiscard]] bool store(descriptor file, std::string_view contents) const noexcept;
  [[noreturn]] void fail(char const* action, int code) const;
  [[noreturn]] void refuse(std::string const& path, std::string const& reason, std::string const& remedy) const;

  std::string place_;
  std::string name_;
  std::string self_;
  net::proof_key key_;
  mutable std::vector<forgery> forgeries_;
  descriptor root_;  ///< the place
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/directory.ipp>
#endif
