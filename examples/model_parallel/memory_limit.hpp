// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <system_error>

/// Bytes of private, writable memory: heap, large allocations, stacks. RLIMIT_DATA limits this number.
inline std::size_t private_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmData:")) {
      return std::stoull(line.substr(7)) * 1024;
    }
  }
  throw std::runtime_error("/proc/self/status has no VmData: this example needs Linux");
}

/// Limits the memory that this process may add from now on. The kernel refuses more, and allocations throw
/// std::bad_alloc. Earlier memory and memory shared by ranks do not count.
class memory_limit {
 public:
  /// @param bytes 0: no limit
  explicit memory_limit(std::size_t bytes) : baseline_(private_bytes()), bytes_(bytes) { impose(); }

  void impose() const { set(bytes_ == 0 ? RLIM_INFINITY : baseline_ + bytes_); }
  void lift() const { set(RLIM_INFINITY); }

  [[nodiscard]] bool is_kept() const { return bytes_ == 0 || usage() <= bytes_; }

  /// Bytes added since construction.
  [[nodiscard]] std::size_t usage() const {
    std::size_t const current = private_bytes();
    return current < baseline_ ? 0 : current - baseline_;
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

  std::size_t baseline_;
  std::size_t bytes_;
};
