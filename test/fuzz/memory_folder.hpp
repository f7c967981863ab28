// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace fuzz {

/// A folder of this process, in memory where that is possible.
class memory_folder {
 public:
  explicit memory_folder(std::string const& name) {
    for (std::string const& place : {std::string("/dev/shm"), std::string(P_tmpdir)}) {
      place_ = place + "/tutti-fuzz-" + std::to_string(::getpid());
      if (::mkdir(place_.c_str(), 0700) == 0) {
        break;
      }
    }
    path_ = place_ + "/" + name;
    ::mkdir(path_.c_str(), 0700);
  }
  memory_folder(memory_folder const&) = delete;
  memory_folder& operator=(memory_folder const&) = delete;
  ~memory_folder() {
    empty();
    ::rmdir(path_.c_str());
    ::rmdir(place_.c_str());
  }

  [[nodiscard]] std::string const& place() const noexcept { return place_; }
  [[nodiscard]] std::string const& path() const noexcept { return path_; }

  /// Removes all that is there.
  void empty() const {
    if (DIR* const stream = ::opendir(path_.c_str()); stream != nullptr) {
      while (dirent const* const entry = ::readdir(stream)) {
        if (::unlinkat(::dirfd(stream), entry->d_name, 0) != 0) {
          ::unlinkat(::dirfd(stream), entry->d_name, AT_REMOVEDIR);
        }
      }
      ::closedir(stream);
    }
    ::mkdir(path_.c_str(), 0700);
  }
  /// Puts a file there, or something that is none.
  void write(std::string const& name, std::size_t kind, std::string const& contents) const {
    std::string const path = path_ + "/" + name;
    switch (kind) {
      case 1:
        static_cast<void>(::symlink(contents.c_str(), path.c_str()) == 0);
        return;
      case 2:
        ::mkfifo(path.c_str(), 0600);
        return;
      case 3:
        ::mkdir(path.c_str(), 0700);
        return;
      default:
        if (int const file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); file >= 0) {
          static_cast<void>(::write(file, contents.data(), contents.size()) == 0);
          ::close(file);
        }
    }
  }
  void rename(std::string const& name, std::string const& other) const {
    static_cast<void>(::rename((path_ + "/" + name).c_str(), (path_ + "/" + other).c_str()) == 0);
  }
  /// Changes a byte of a file that is not empty.
  void change(std::string const& name, std::size_t position, char difference) const {
    int const file = ::open((path_ + "/" + name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status {};
    if (file >= 0 && ::fstat(file, &status) == 0 && status.st_size > 0) {
      auto const place = static_cast<off_t>(position) % status.st_size;
      char byte = 0;
      static_cast<void>(::pread(file, &byte, 1, place) == 1);
      byte = static_cast<char>(byte ^ difference);
      static_cast<void>(::pwrite(file, &byte, 1, place) == 1);
    }
    ::close(file);
  }
  [[nodiscard]] bool has(std::string const& name) const {
    struct stat status {};
    return ::lstat((path_ + "/" + name).c_str(), &status) == 0;
  }

 private:
  std::string place_;
  std::string path_;
};

}  // namespace fuzz
