// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <system_error>

/// Bytes that this process can write and shares with no other: heap, large allocations, stacks. What RLIMIT_DATA
/// limits.
inline std::size_t private_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmData:")) {
      return std::stoull(line.substr(7)) * 1024;
    }
  }
  throw std::runtime_error("/proc/self/status has no VmData: this example needs Linux");
}

/// Lets this process have only this much more memory from now on: the kernel refuses the rest, and what allocates
/// throws std::bad_alloc. What was there before does not count, nor does memory that ranks share.
class memory_limit {
 public:
  /// @param bytes 0: no limit
  explicit memory_limit(std::size_t bytes) : before_(private_bytes()), bytes_(bytes) { impose(); }

  void impose() const { set(bytes_ == 0 ? RLIM_INFINITY : before_ + bytes_); }
  void lift() const { set(RLIM_INFINITY); }

  [[nodiscard]] bool kept() const { return bytes_ == 0 || used() <= bytes_; }

  /// How much has come since.
  [[nodiscard]] std::size_t used() const {
    std::size_t const now = private_bytes();
    return now < before_ ? 0 : now - before_;
  }

 private:
  static void set(rlim_t bytes) {
    rlimit limit{};
    if (getrlimit(RLIMIT_DATA, &limit) == 0) {
      limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
      if (setrlimit(RLIMIT_DATA, &limit) == 0) {
        return;
      }
    }
    throw std::system_error(errno, std::generic_category(), "cannot limit this process's memory");
  }

  std::size_t before_;
  std::size_t bytes_;
};
