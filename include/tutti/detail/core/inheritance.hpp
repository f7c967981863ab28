// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <pthread.h>
#include <unistd.h>

namespace tutti::detail {

/// Keeps what a process has open from being inherited by its forks. A helper that a rank forks - a data loader, a
/// shell that has not become its program yet - would otherwise hold the rank's sockets open, and peers would not see
/// it end. (A child that becomes another program loses them by close-on-exec.)
///
/// All state is static: which descriptors the child closes, and how many forks this process is away from the first.
/// Thread-safe, lock-free. A process that is forked past the C library (_Fork, clone) inherits all of it.
template <class = void>
class basic_inheritance {
 public:
  /// From now on a fork closes `fd`. Those beyond the table are inherited.
  static void refuse(int fd) noexcept {
    watch_forks();
    if (fd >= 0 && fd < most) {
      word_of(fd).fetch_or(bit_of(fd), std::memory_order_relaxed);
    }
  }
  /// A fork inherits `fd` again.
  static void allow(int fd) noexcept {
    if (fd >= 0 && fd < most) {
      word_of(fd).fetch_and(~bit_of(fd), std::memory_order_relaxed);
    }
  }

  /// Counts forks: what was made under another number is the parent's, and not to be touched.
  [[nodiscard]] static std::uint32_t generation() noexcept {
    watch_forks();
    return generation_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr int most = 1 << 16;

  static void watch_forks() noexcept {
    [[maybe_unused]] static int const handled = ::pthread_atfork(nullptr, nullptr, close_all);
  }

  static std::atomic<std::uint64_t>& word_of(int fd) noexcept { return refused_[fd / 64]; }
  static std::uint64_t bit_of(int fd) noexcept { return std::uint64_t{1} << (fd % 64); }

  /// In the child: async-signal-safe, as other threads of the parent may have held any lock.
  static void close_all() noexcept {
    generation_.fetch_add(1, std::memory_order_relaxed);
    for (int first = 0; first < most; first += 64) {
      std::uint64_t left = refused_[first / 64].exchange(0, std::memory_order_relaxed);
      for (; left != 0; left &= left - 1) {
        ::close(first + std::countr_zero(left));
      }
    }
  }

  inline static std::atomic<std::uint64_t> refused_[most / 64]{};
  inline static std::atomic<std::uint32_t> generation_{0};
};

using inheritance = basic_inheritance<>;

}  // namespace tutti::detail
