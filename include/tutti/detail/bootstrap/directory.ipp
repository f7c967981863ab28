// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/directory.hpp>
#include <tutti/detail/net/nonce.hpp>
#include <tutti/extend/error.hpp>

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <span>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// Reads a file to its end. Returns nothing and sets errno on failure; EFBIG: it is longer than `limit` bytes. Reads
/// nothing of a file whose length says so.
TUTTI_DECL std::optional<std::string> read_to_end(descriptor const& file, std::size_t limit) {
  std::string contents;
  struct stat status {};
  if (::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && std::cmp_greater(status.st_size, limit)) {
    errno = EFBIG;
    return std::nullopt;
  }
  for (;;) {
    char part[4096];
    ssize_t const byte_count = ::read(file.get(), part, sizeof part);
    if (byte_count > 0) {
      contents.append(part, static_cast<std::size_t>(byte_count));
      if (contents.size() > limit) {
        errno = EFBIG;
        return std::nullopt;
      }
    } else if (byte_count == 0) {
      return contents;
    } else if (errno != EINTR) {
      return std::nullopt;
    }
  }
}

TUTTI_DECL std::optional<std::string> read_file(std::string const& path, std::size_t limit) {
  descriptor const file([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  return file ? read_to_end(file, limit) : std::nullopt;
}

/// True if only this user may write in the folder.
TUTTI_DECL bool is_private(struct stat const& folder) noexcept {
  return folder.st_uid == ::geteuid() && (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// True if a file has not changed between two looks at it.
TUTTI_DECL bool is_same_file(struct stat const& file, struct stat const& other) noexcept {
  return file.st_dev == other.st_dev && file.st_ino == other.st_ino && file.st_size == other.st_size &&
         file.st_ctim.tv_sec == other.st_ctim.tv_sec && file.st_ctim.tv_nsec == other.st_ctim.tv_nsec;
}

TUTTI_DECL directory::directory(std::string place, std::string name, net::proof_key const& key)
    : place_(std::move(place)), name_(std::move(name)), self_(net::draw_nonce()), key_(key) {
  if (::mkdir(place_.c_str(), 0700) != 0 && errno != EEXIST) {
    fail("cannot make", errno);
  }
  root_ = descriptor([&] { return ::open(place_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); });
  struct stat status {};
  if (!root_ || ::fstat(root_.get(), &status) != 0) {
    fail("cannot use", errno);
  }
  constexpr char const* remedy = "name a folder of your own, as TUTTI_STORE=file:PATH";
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    refuse(place_, "it belongs to another user", remedy);
  }
  // In a folder with the sticky bit, such as /tmp, only the owner can rename or remove files of this user.
  if ((status.st_mode & S_ISVTX) == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    refuse(place_,
           std::string((status.st_mode & S_IWOTH) != 0 ? "all users" : "the members of its group") + " may write there",
           "remove that permission (chmod go-w '" + place_ + "'), or " + remedy);
  }
  // A rank whose disk is full must notice it now, alone: it could not tell the others.
  std::string const probe = "probe." + self_;
  try {
    write(probe, std::string_view("tutti"));
  } catch (error const&) {
    remove_if_empty();
    throw;
  }
  remove(probe);
}

TUTTI_DECL void directory::write(std::string const& name, std::string_view contents) {
  std::string const draft = "draft." + self_;
  std::string bytes(contents);
  if (key_) {
    net::proof const tag = key_.prove("file", {name, contents});
    bytes += net::text_of(tag);
  }
  for (int attempt = 0;; ++attempt) {
    descriptor const folder = make();
    descriptor file([&] {
      return ::openat(folder.get(), draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    });
    if (file) {
      if (store(std::move(file), bytes) && ::renameat(folder.get(), draft.c_str(), folder.get(), name.c_str()) == 0) {
        return;
      }
      int const code = errno;
      ::unlinkat(folder.get(), draft.c_str(), 0);
      errno = code;
    }
    // The last member of an earlier job has just removed the folder, perhaps on another host, or rank 0 has removed
    // drafts of earlier jobs.
    if ((errno != ENOENT && errno != ESTALE) || attempt == 3) {
      fail("cannot write to", errno);
    }
  }
}

/// The end of a mark's name: its proof, as sixteen hexadecimal digits after a dot. Empty without a key.
TUTTI_DECL std::string directory::proof_of_mark(std::string_view name) const {
  std::string text;
  if (key_) {
    text += '.';
    net::proof const tag = key_.prove("mark", {name});
    for (std::byte const b : std::span(tag).first(8)) {
      text += "0123456789abcdef"[static_cast<unsigned>(b) >> 4U];
      text += "0123456789abcdef"[static_cast<unsigned>(b) & 15U];
    }
  }
  return text;
}

TUTTI_DECL void directory::mark(std::string const& name) const {
  descriptor const folder = try_open();
  std::string const full_name = name + proof_of_mark(name);
  descriptor const file(
      [&] { return ::openat(folder.get(), full_name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600); });
}

TUTTI_DECL std::vector<std::string> directory::marks(std::string_view prefix) const {
  std::vector<std::string> names;
  for (std::string const& name : list(prefix)) {
    std::string const stem = name.substr(0, key_ ? name.rfind('.') : name.npos);
    if (name == stem + proof_of_mark(stem)) {
      names.push_back(stem);
    }
  }
  return names;
}

TUTTI_DECL std::optional<std::string> directory::read(std::string const& name, std::size_t limit) const {
  descriptor const folder = open();
  if (!folder) {
    return std::nullopt;
  }
  descriptor const file(
      [&] { return ::openat(folder.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
  struct stat status {};
  bool const foreign =
      file ? ::fstat(file.get(), &status) == 0 && (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid())
           : errno == ELOOP || errno == ENXIO;
  bool const is_known = std::any_of(forgeries_.begin(), forgeries_.end(), [&](forgery const& candidate) {
    return candidate.name == name && is_same_file(candidate.status, status);
  });
  if (is_known || (!file && !foreign)) {
    return std::nullopt;
  }
  auto contents = foreign ? std::nullopt : read_to_end(file, limit + (key_ ? sizeof(net::proof) : 0));
  std::string const reason = foreign                       ? "is a link, or not a regular file of this user"
                             : !contents && errno == EFBIG ? "is longer than " + std::to_string(limit) + " bytes"
                                                           : "";
  if (!reason.empty() && !key_) {
    refuse(path() + "/" + name, "it " + reason, "remove it, or name another folder, as TUTTI_STORE=file:PATH");
  }
  if (!reason.empty()) {
    note_forgery(name, reason, status);
  } else if (contents && key_) {
    std::size_t const size = contents->size() - (std::min)(contents->size(), sizeof(net::proof));
    std::string_view const text = std::string_view(*contents).substr(0, size);
    if (!key_.accepts(std::string_view(*contents).substr(size), "file", {name, text})) {
      note_forgery(name, "does not prove that its writer knows this TUTTI_SECRET", status);
      return std::nullopt;
    }
    contents->resize(size);
  }
  return contents;
}

TUTTI_DECL void directory::note_forgery(std::string const& name, std::string const& reason,
                                        struct stat const& status) const {
  constexpr std::size_t limit = 1024;
  auto const position = std::find_if(forgeries_.begin(), forgeries_.end(),
                                     [&name](forgery const& candidate) { return candidate.name == name; });
  if (position != forgeries_.end()) {
    *position = {name, reason, status};
  } else if (forgeries_.size() < limit) {
    forgeries_.push_back({name, reason, status});
  }
}

TUTTI_DECL std::vector<std::string> directory::forgeries() const {
  constexpr std::size_t limit = 16;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < (std::min)(forgeries_.size(), limit); ++i) {
    texts.push_back("'" + path() + "/" + forgeries_[i].name + "' " + forgeries_[i].reason);
  }
  return texts;
}

TUTTI_DECL std::vector<std::string> directory::list(std::string_view prefix) const {
  std::vector<std::string> names;
  descriptor folder = open();
  if (DIR* const stream = folder ? ::fdopendir(folder.get()) : nullptr; stream != nullptr) {
    static_cast<void>(folder.release());  // closedir closes it
    while (dirent const* const entry = ::readdir(stream)) {
      if (std::string_view const name = entry->d_name; name.starts_with(prefix) && name != "." && name != "..") {
        names.emplace_back(name);
      }
    }
    ::closedir(stream);
  }
  return names;
}

TUTTI_DECL void directory::remove(std::string const& name) const noexcept {
  ::unlinkat(try_open().get(), name.c_str(), 0);
}

TUTTI_DECL void directory::remove_if_empty() const noexcept {
  descriptor const folder = try_open();
  struct stat status {};
  if (folder && ::fstat(folder.get(), &status) == 0 && is_private(status)) {
    ::unlinkat(root_.get(), name_.c_str(), AT_REMOVEDIR);
  }
}

/// Opens the folder, or returns none and sets errno. Others may remove and recreate it, so it is opened each time.
TUTTI_DECL descriptor directory::try_open() const noexcept {
  return descriptor(
      [&] { return ::openat(root_.get(), name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
}

/// Opens the folder; returns none if it does not exist.
/// @throws error(failure::join) if it is not safe
TUTTI_DECL descriptor directory::open() const {
  descriptor folder = try_open();
  struct stat status {};
  if (folder ? ::fstat(folder.get(), &status) != 0 : errno != ENOENT && errno != ELOOP && errno != ENOTDIR) {
    fail("cannot use a folder in", errno);
  }
  bool const foreign = folder ? !is_private(status) : errno == ELOOP || errno == ENOTDIR;
  if (foreign) {
    refuse(path(), "it is not a folder that this user alone may write",
           "remove it, or name another place, as TUTTI_STORE=file:PATH");
  }
  return folder;
}

TUTTI_DECL descriptor directory::make() const {
  for (int attempt = 0;; ++attempt) {
    if (descriptor folder = open()) {
      return folder;
    }
    if (::mkdirat(root_.get(), name_.c_str(), 0700) != 0 && (errno != EEXIST || attempt == 3)) {
      fail("cannot make a folder in", errno);
    }
  }
}

/// Writes all of a file and closes it. Returns false and sets errno on failure: some file systems report a full disk
/// only at close.
TUTTI_DECL bool directory::store(descriptor file, std::string_view contents) const noexcept {
  if (int const code = write_file(file.get(), bytes_of(contents)); code != 0) {
    errno = code;
    return false;
  }
  return ::close(file.release()) == 0 || errno == EINTR;  // EINTR closes the file, too
}

TUTTI_DECL void directory::fail(char const* action, int code) const {
  throw error(failure::join, std::string(action) + " the directory '" + place_ + "' of the rendezvous: " +
                                 describe_write_error(code) + "; name another one, as TUTTI_STORE=file:PATH");
}

TUTTI_DECL void directory::refuse(std::string const& path, std::string const& reason, std::string const& remedy) const {
  throw error(failure::join, "'" + path + "' is not safe to meet in: " + reason + "; " + remedy);
}

}  // namespace tutti::detail::bootstrap
