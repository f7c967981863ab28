// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <atomic>
#include <cstdint>
#include <pthread.h>

namespace tutti::inline v0_1_0::detail::inline core {

/// Keeps what a process has open from being inherited by its forks. A helper that a rank forks - a data loader, a
/// shell that has not become its program yet - would otherwise hold the rank's sockets open, and peers would not see
/// it end. (A child that becomes another program loses them by close-on-exec.)
///
/// All state is static: which descriptors the child closes, and how many forks this process is away from the first.
/// Thread-safe, lock-free. A process that is forked past the C library (_Fork, clone) inherits all of it.
class inheritance {
 public:
  /// From now on a fork closes `fd`. Those beyond the table are inherited.
  TUTTI_DECL static void refuse(int fd) noexcept;
  /// A fork inherits `fd` again.
  TUTTI_DECL static void allow(int fd) noexcept;

  /// Counts forks: what was made under another number is the parent's, and not to be touched.
  [[nodiscard]] static std::uint32_t generation() noexcept {
    watch_forks();
    return generation_.load(std::memory_order_relaxed);
  }
  /// True in a process that was forked since `generation` returned this number.
  [[nodiscard]] static bool forked_since(std::uint32_t number) noexcept {
    return generation_.load(std::memory_order_relaxed) != number;
  }

 private:
  static void watch_forks() noexcept {
    [[maybe_unused]] static int const handled = ::pthread_atfork(nullptr, nullptr, close_all);
  }

  TUTTI_DECL static void close_all() noexcept;

  inline static std::atomic<std::uint32_t> generation_{0};
};

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/inheritance.ipp>
#endif
