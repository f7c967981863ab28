// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/inheritance.hpp>

#include <bit>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline core {

/// A bit for each descriptor that the child of a fork closes.
struct refused_descriptors {
  static constexpr int most = 1 << 16;

  [[nodiscard]] static bool has(int fd) noexcept { return fd >= 0 && fd < most; }
  [[nodiscard]] static std::uint64_t bit_of(int fd) noexcept { return std::uint64_t{1} << (fd % 64); }

  inline static std::atomic<std::uint64_t> words[most / 64]{};
};

TUTTI_DECL void inheritance::refuse(int fd) noexcept {
  watch_forks();
  if (refused_descriptors::has(fd)) {
    refused_descriptors::words[fd / 64].fetch_or(refused_descriptors::bit_of(fd), std::memory_order_relaxed);
  }
}
TUTTI_DECL void inheritance::allow(int fd) noexcept {
  if (refused_descriptors::has(fd)) {
    refused_descriptors::words[fd / 64].fetch_and(~refused_descriptors::bit_of(fd), std::memory_order_relaxed);
  }
}

/// Runs in the child, and is async-signal-safe: other threads of the parent may have held any lock.
TUTTI_DECL void inheritance::close_all() noexcept {
  uncancelled const throughout;  // the thread that called fork may have been cancelled
  generation_.fetch_add(1, std::memory_order_relaxed);
  for (int first = 0; first < refused_descriptors::most; first += 64) {
    std::uint64_t left = refused_descriptors::words[first / 64].exchange(0, std::memory_order_relaxed);
    for (; left != 0; left &= left - 1) {
      ::close(first + std::countr_zero(left));
    }
  }
}

}  // namespace tutti::detail::core
