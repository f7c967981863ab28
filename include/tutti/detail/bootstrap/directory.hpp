// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/error.hpp>

#include <cerrno>
#include <cstdint>
#include <dirent.h>
#include <fcntl.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tutti::detail {

/// Sixteen hexadecimal digits that nobody else has drawn.
[[nodiscard]] inline std::string draw_nonce() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    bits =
        static_cast<std::uint64_t>(steady_now().count()) * 0x9e3779b97f4a7c15U ^ static_cast<std::uint64_t>(::getpid());
  }
  std::string text(16, '0');
  for (char& digit : text) {
    digit = "0123456789abcdef"[bits & 15U];
    bits >>= 4U;
  }
  return text;
}

/// The contents of a file; nothing, and errno, if it cannot be read.
template <class = void>
[[nodiscard]] std::optional<std::string> read_file(std::string const& path) {
  descriptor const f(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!f) {
    return std::nullopt;
  }
  std::string contents;
  for (;;) {
    char part[4096];
    ssize_t const got = ::read(f.get(), part, sizeof part);
    if (got > 0) {
      contents.append(part, static_cast<std::size_t>(got));
    } else if (got == 0) {
      return contents;
    } else if (errno != EINTR) {
      return std::nullopt;
    }
  }
}

/// A directory through which processes exchange small files. A file is there with all of its
/// contents or not at all.
template <class Descriptor>
class basic_directory {
 public:
  /// Opens `path`, and makes it (not its parents) if need be, for this user alone.
  /// @throws error(failure::join) if that fails, or if others could put files into it
  explicit basic_directory(std::string path) : path_(std::move(path)), self_(draw_nonce()) {
    make();
    struct stat s {};
    if (::stat(path_.c_str(), &s) != 0) {
      fail("cannot use", errno);
    }
    if (!S_ISDIR(s.st_mode)) {
      fail("cannot use", ENOTDIR);
    }
    if (s.st_uid != ::geteuid() || (s.st_mode & S_IWOTH) != 0) {
      throw error(failure::join, "the directory '" + path_ +
                                     "' is not safe to meet in: it belongs to another user, or everyone may write "
                                     "there; name one of your own, as TUTTI_STORE=file:PATH");
    }
  }

  [[nodiscard]] std::string const& path() const noexcept { return path_; }

  /// Puts a file there, in place of one of that name.
  void write(std::string const& name, std::string_view contents) {
    std::string const draft = path_ + "/draft." + self_;
    for (int attempt = 0;; ++attempt) {
      Descriptor const f(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
      if (f) {
        store(f.get(), contents);
        break;
      }
      if (errno != ENOENT || attempt == 3) {
        fail("cannot write to", errno);
      }
      make();  // the last member of an earlier job has just removed it
    }
    if (::rename(draft.c_str(), (path_ + "/" + name).c_str()) != 0) {
      fail("cannot write to", errno);
    }
  }

  /// The contents of a file, if it is there.
  [[nodiscard]] std::optional<std::string> read(std::string const& name) const { return read_file(path_ + "/" + name); }

  /// The names of the files that begin with `prefix`.
  [[nodiscard]] std::vector<std::string> list(std::string_view prefix) const {
    std::vector<std::string> names;
    if (DIR* const d = ::opendir(path_.c_str()); d != nullptr) {
      while (dirent const* const entry = ::readdir(d)) {
        if (std::string_view const name = entry->d_name; name.starts_with(prefix)) {
          names.emplace_back(name);
        }
      }
      ::closedir(d);
    }
    return names;
  }

  void remove(std::string const& name) const noexcept { ::unlink((path_ + "/" + name).c_str()); }

  /// Removes the directory if nothing is in it.
  void remove_if_empty() const noexcept { ::rmdir(path_.c_str()); }

 private:
  void make() const {
    if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
      fail("cannot make", errno);
    }
  }

  void store(int fd, std::string_view contents) const {
    while (!contents.empty()) {
      ssize_t const put = ::write(fd, contents.data(), contents.size());
      if (put > 0) {
        contents.remove_prefix(static_cast<std::size_t>(put));
      } else if (put == 0 || errno != EINTR) {
        fail("cannot write to", put == 0 ? ENOSPC : errno);
      }
    }
  }

  [[noreturn]] void fail(char const* what, int code) const {
    throw error(failure::join,
                std::string(what) + " the directory '" + path_ + "' of the rendezvous: " + describe_errno(code));
  }

  std::string path_;
  std::string self_;
};

using directory = basic_directory<descriptor>;

}  // namespace tutti::detail
