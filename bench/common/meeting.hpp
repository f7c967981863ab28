// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace bench {

/// A barrier for the ranks of a contender, threads or processes, outside of the measured time. It is the same for all
/// contenders: a counter in a file that all ranks map.
class meeting {
 public:
  /// @throws std::runtime_error if the file cannot be mapped
  meeting(std::string const& path, unsigned size) : size_(size) {
    int const file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ::ftruncate(file, sizeof(counter)) != 0) {
      throw std::runtime_error("meeting=" + path + ": " + std::strerror(errno));
    }
    void* const memory = ::mmap(nullptr, sizeof(counter), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (memory == MAP_FAILED) {
      throw std::runtime_error("meeting=" + path + ": " + std::strerror(errno));
    }
    arrivals_ = static_cast<counter*>(memory);
  }
  meeting(meeting const&) = delete;
  meeting& operator=(meeting const&) = delete;
  ~meeting() { ::munmap(arrivals_, sizeof(counter)); }

  void wait() noexcept {
    expected_ += size_;
    arrivals_->fetch_add(1, std::memory_order_acq_rel);
    for (unsigned i = 0; arrivals_->load(std::memory_order_acquire) < expected_; ++i) {
      if (is_oversubscribed_ || i > 10000) {
        ::sched_yield();
      }
    }
  }

 private:
  using counter = std::atomic<std::uint64_t>;
  static_assert(counter::is_always_lock_free);

  unsigned size_;
  bool is_oversubscribed_ = size_ > std::thread::hardware_concurrency();
  std::uint64_t expected_ = 0;
  counter* arrivals_ = nullptr;
};

}  // namespace bench
