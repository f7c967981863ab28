// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <atomic>
#include <cstdint>
#include <pthread.h>

namespace tutti::inline v0_1_0::detail::inline core {

/// Fork guard: closes the library's descriptors in forked children. Otherwise a child that a rank forks (a data loader,
/// a shell before exec) would hold the rank's sockets open and hide its end from peers. (exec closes them by
/// close-on-exec.)
///
/// All state is static: the descriptors that a child closes, and the number of forks between this process and the
/// first. Thread-safe, lock-free. A fork that bypasses the C library (_Fork, clone) inherits everything.
class fork_guard {
 public:
  /// Makes forks close `fd`. Numbers beyond the table are inherited.
  TUTTI_DECL static void add(int fd) noexcept;
  /// Makes forks inherit `fd` again.
  TUTTI_DECL static void remove(int fd) noexcept;

  /// Counts forks: an object made in another generation is the parent's, and must not be touched.
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
    [[maybe_unused]] static int const registration = ::pthread_atfork(nullptr, nullptr, close_all);
  }

  TUTTI_DECL static void close_all() noexcept;

  inline static std::atomic<std::uint32_t> generation_{0};
};

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/fork_guard.ipp>
#endif
