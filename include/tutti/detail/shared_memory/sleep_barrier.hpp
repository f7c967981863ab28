// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <atomic>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Keeps a later load from being done before an earlier store. (The same with sequentially consistent
/// stores instead is dearer on x86: their exchange holds on to a line that both ends want.)
inline void store_load_fence() noexcept {
// g++ warns under -fsanitize=thread that the tool sees no order in a fence. Nothing relies on that.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  std::atomic_thread_fence(std::memory_order_seq_cst);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

/// Orders two ranks of which one writes that it sleeps and then looks for messages, and the other writes one
/// and then looks whether the first one sleeps: at least one of them sees what the other wrote.
///
/// Each needs a fence between its store and its load; but the one that writes needs it for every message,
/// and hardly ever does a rank sleep. Linux can run a fence on all processors that run a rank, at the
/// request of the one that goes to sleep (membarrier). Then the other's costs nothing. That pays where ranks hardly
/// ever sleep; where they outnumber cores they often do, and interrupt what the other cores do each time.
class sleep_barrier {
 public:
  /// True if other processes can make the ranks of this one pass a fence, and that pays: each rank has a core.
  [[nodiscard]] static bool is_offered(bool each_has_a_core) noexcept {
    return each_has_a_core && ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
  }

  /// `remote`: all ranks of the world have offered that.
  explicit sleep_barrier(bool remote_fences) noexcept : remote_fences_(remote_fences) {}

  /// Between "I sleep" and the look for messages. False if the others could not be made to pass a fence: the program
  /// has locked itself in since it joined (seccomp). Then a message may not wake this rank, so it must not sleep.
  [[nodiscard]] bool fence_sleeper() const noexcept {
    store_load_fence();
    return !remote_fences_ || ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
  }
  /// Between a message and the look for sleepers.
  void fence_waker() const noexcept {
    if (remote_fences_) [[likely]] {
      std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler must keep the order
    } else {
      store_load_fence();
    }
  }

 private:
  bool remote_fences_;
};

}  // namespace tutti::detail::shared_memory
