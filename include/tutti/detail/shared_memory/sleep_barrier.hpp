// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <atomic>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Keeps a later load behind an earlier store. Cheaper on x86 than sequentially consistent stores, whose exchange holds
/// a line that both ends want.
inline void store_load_fence() noexcept {
// compilers.md: False warnings
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  std::atomic_thread_fence(std::memory_order_seq_cst);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

/// Orders a rank that writes "asleep" and then looks for messages, and one that writes a message and then looks for
/// sleepers: at least one of them sees the other's write.
///
/// Both need a fence between store and load. The sender would need it for every message, though ranks rarely sleep.
/// Linux can run the fence on all cores at the request of the sleeper (membarrier), and the sender's costs nothing.
/// Oversubscribed ranks sleep often, and would interrupt other cores each time.
class sleep_barrier {
 public:
  /// True if other processes can run fences on this one, and that pays: each rank has a core.
  [[nodiscard]] static bool is_offered(bool each_has_a_core) noexcept {
    return each_has_a_core && ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
  }

  /// `remote_fences`: all ranks of the world have offered that.
  explicit sleep_barrier(bool remote_fences) noexcept : remote_fences_(remote_fences) {}

  /// Fences between "asleep" and the look for messages. Returns false if the others could not be fenced, because the
  /// program has restricted itself since it joined (seccomp). Then this rank may miss a message, so it must not sleep.
  [[nodiscard]] bool fence_sleeper() const noexcept {
    store_load_fence();
    return !remote_fences_ || ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
  }
  /// Fences between a message and the look for sleepers.
  void fence_waker() const noexcept {
    if (remote_fences_) [[likely]] {
      std::atomic_signal_fence(std::memory_order_seq_cst);  // keeps the compiler's order
    } else {
      store_load_fence();
    }
  }

 private:
  bool remote_fences_;
};

}  // namespace tutti::detail::shared_memory
