// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/fork_guard.hpp>

#include <bit>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline core {

/// A bit for each descriptor that the child of a fork closes.
struct guarded_descriptors {
  static constexpr int limit = 1 << 16;

  [[nodiscard]] static bool has(int fd) noexcept { return fd >= 0 && fd < limit; }
  [[nodiscard]] static std::uint64_t bit_of(int fd) noexcept { return std::uint64_t{1} << (fd % 64); }

  inline static std::atomic<std::uint64_t> words[limit / 64]{};
};

TUTTI_DECL void fork_guard::add(int fd) noexcept {
  watch_forks();
  if (guarded_descriptors::has(fd)) {
    guarded_descriptors::words[fd / 64].fetch_or(guarded_descriptors::bit_of(fd), std::memory_order_relaxed);
  }
}
TUTTI_DECL void fork_guard::remove(int fd) noexcept {
  if (guarded_descriptors::has(fd)) {
    guarded_descriptors::words[fd / 64].fetch_and(~guarded_descriptors::bit_of(fd), std::memory_order_relaxed);
  }
}

/// Runs in the child, and is async-signal-safe: other threads of the parent may have held any lock.
TUTTI_DECL void fork_guard::close_all() noexcept {
  cancellation_shield const shield;  // the thread that called fork may have been cancelled
  generation_.fetch_add(1, std::memory_order_relaxed);
  for (int first = 0; first < guarded_descriptors::limit; first += 64) {
    std::uint64_t remaining = guarded_descriptors::words[first / 64].exchange(0, std::memory_order_relaxed);
    for (; remaining != 0; remaining &= remaining - 1) {
      ::close(first + std::countr_zero(remaining));
    }
  }
}

}  // namespace tutti::detail::core
