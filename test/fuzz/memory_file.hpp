// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace fuzz {

/// A file in memory, for code that reads a path.
class memory_file {
 public:
  explicit memory_file(std::string_view contents) {
    static_cast<void>(::write(file_, contents.data(), contents.size()) == 0);
  }
  memory_file(memory_file const&) = delete;
  memory_file& operator=(memory_file const&) = delete;
  ~memory_file() { ::close(file_); }

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_ = ::memfd_create("fuzz", MFD_CLOEXEC);
};

}  // namespace fuzz
