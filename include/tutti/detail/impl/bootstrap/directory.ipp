// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/directory.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/nonce.hpp>
#include <tutti/error.hpp>

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tutti::inline v0_1_0::detail {

TUTTI_DECL std::optional<std::string> read_file(std::string const& path) {
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

TUTTI_DECL directory::directory(std::string path) : path_(std::move(path)), self_(net::draw_nonce()) {
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
                                   "' is not safe to meet in: it belongs to another user, or all users may write "
                                   "there; name one of your own, as TUTTI_STORE=file:PATH");
  }
}

TUTTI_DECL void directory::write(std::string const& name, std::string_view contents) {
  std::string const draft = path_ + "/draft." + self_;
  for (int attempt = 0;; ++attempt) {
    descriptor const f(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
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

TUTTI_DECL std::optional<std::string> directory::read(std::string const& name) const {
  return read_file(path_ + "/" + name);
}

TUTTI_DECL std::vector<std::string> directory::list(std::string_view prefix) const {
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

TUTTI_DECL void directory::remove(std::string const& name) const noexcept {
  ::unlink((path_ + "/" + name).c_str());
}

TUTTI_DECL void directory::remove_if_empty() const noexcept {
  ::rmdir(path_.c_str());
}

TUTTI_DECL void directory::make() const {
  if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
    fail("cannot make", errno);
  }
}

TUTTI_DECL void directory::store(int fd, std::string_view contents) const {
  while (!contents.empty()) {
    ssize_t const put = ::write(fd, contents.data(), contents.size());
    if (put > 0) {
      contents.remove_prefix(static_cast<std::size_t>(put));
    } else if (put == 0 || errno != EINTR) {
      fail("cannot write to", put == 0 ? ENOSPC : errno);
    }
  }
}

TUTTI_DECL void directory::fail(char const* what, int code) const {
  throw error(failure::join, std::string(what) + " the directory '" + path_ + "' of the rendezvous: " +
                                 describe_errno(code) + "; name another one, as TUTTI_STORE=file:PATH");
}

}  // namespace tutti::detail
