// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/fork_guard.hpp>
#include <tutti/detail/core/standard_numbers.hpp>

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline core {

/// The numbers that this process occupies, and the count of objects that need that. An object of this class holds their
/// lock.
///
/// A number is occupied by a descriptor of a path (O_PATH): reads and writes fail with EBADF, and "/" always exists.
class occupied_numbers {
 public:
  occupied_numbers() noexcept {
    holds = true;
    lock();
  }
  occupied_numbers(occupied_numbers const&) = delete;
  occupied_numbers& operator=(occupied_numbers const&) = delete;
  ~occupied_numbers() {
    unlock();
    holds = false;
  }

  void enter() noexcept { ++users; }
  void leave() noexcept {
    if (--users == 0 && numbers != 0) {
      vacate();
    }
  }

  void occupy() noexcept {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
      if (!is_free(fd)) {
        continue;
      }
      int const number = ::open("/", O_PATH | O_CLOEXEC);  // opens the lowest free number
      if (number >= 0 && number <= STDERR_FILENO) {
        numbers |= bit_of(number);
      } else if (number >= 0) {
        ::close(number);
      }
    }
  }

  /// Holds the lock during a fork: the kernel copies descriptors and memory one after the other, and they must agree. A
  /// thread that forks in a signal handler may hold it already.
  static void watch_forks() noexcept {
    [[maybe_unused]] static int const registration = ::pthread_atfork(
        [] {
          forks = true;
          if (!holds) {
            lock();
          }
        },
        [] {
          if (!holds) {
            unlock();
          }
          forks = false;
        },
        [] {  // async-signal-safe
          cancellation_shield const shield;
          vacate();
          users = 0;
          unlock();
          forks = false;
        });
  }

  [[nodiscard]] static bool is_locked() noexcept { return holds || forks || busy.load(std::memory_order_relaxed); }

  [[nodiscard]] static bool is_free(int fd) noexcept { return ::fcntl(fd, F_GETFD) < 0 && errno == EBADF; }

 private:
  static void lock() noexcept {
    while (busy.exchange(true, std::memory_order_acquire)) {
      ::sched_yield();
    }
  }
  static void unlock() noexcept { busy.store(false, std::memory_order_release); }

  [[nodiscard]] static unsigned bit_of(int fd) noexcept { return 1U << static_cast<unsigned>(fd); }

  static void vacate() noexcept {
    int const saved_errno = errno;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
      int const flags = (numbers & bit_of(fd)) != 0 ? ::fcntl(fd, F_GETFL) : -1;
      if (flags >= 0 && (flags & O_PATH) != 0) {  // else a file of the program
        ::close(fd);
      }
    }
    numbers = 0;
    errno = saved_errno;
  }

  static constinit inline std::atomic<bool> busy{false};
  static constinit inline thread_local bool holds = false;  ///< this thread has the lock, or waits for it
  static constinit inline thread_local bool forks = false;  ///< this thread is in a call of fork
  static constinit inline unsigned users = 0;
  static constinit inline unsigned numbers = 0;  ///< occupied numbers, one bit each
};

TUTTI_DECL standard_numbers::standard_numbers() noexcept : owner_(fork_guard::generation()) {
  occupied_numbers::watch_forks();
  int const saved_errno = errno;
  occupied_numbers().enter();  // afterwards, no number seen occupied below is freed
  if (occupied_numbers::is_free(STDIN_FILENO) || occupied_numbers::is_free(STDOUT_FILENO) ||
      occupied_numbers::is_free(STDERR_FILENO)) [[unlikely]] {
    occupied_numbers().occupy();
  }
  errno = saved_errno;
}

TUTTI_DECL standard_numbers::~standard_numbers() {
  if (!fork_guard::forked_since(owner_)) {
    occupied_numbers().leave();
  }
}

TUTTI_DECL bool standard_numbers::are_usable_in_handler() noexcept {
  return !occupied_numbers::is_locked();
}

}  // namespace tutti::detail::core
