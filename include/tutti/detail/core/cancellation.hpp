// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <exception>
#include <pthread.h>

namespace tutti::inline v0_1_0::detail::inline core {

/// True in a handler that has caught the unwinding of pthread_cancel or pthread_exit, which is no C++ exception. The
/// handler must rethrow it.
[[nodiscard]] inline bool is_forced_unwind() noexcept {
  return std::current_exception() == nullptr;
}

/// Disables pthread_cancel on this thread until the end of the block: the library's system calls are no cancellation
/// points, since its bookkeeping and destructors cannot be interrupted. A wait has its own points, between naps.
///
/// Cost: 6 ns, so it is for code that makes system calls.
class cancellation_shield {
 public:
  enum class points { active, silent };

  /// With points::silent, points of waits inside the block do nothing, too.
  explicit cancellation_shield(points wait_points = points::active) noexcept : silent_(wait_points == points::silent) {
    begin();
    silent += silent_ ? 1U : 0U;
  }
  cancellation_shield(cancellation_shield const&) = delete;
  cancellation_shield& operator=(cancellation_shield const&) = delete;
  ~cancellation_shield() {
    silent -= silent_ ? 1U : 0U;
    end();
  }

  static void begin() noexcept {
    if (depth++ == 0) {
      ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &previous_state);
    }
  }
  static void end() noexcept {
    if (depth == 1) {
      ::pthread_setcancelstate(previous_state, nullptr);
    }
    --depth;  // last, so that a shield of a signal handler always finds the state as it is, or is an inner one
  }

  /// Ends a cancelled thread here. @pre cancellation is disabled, and no caller is noexcept
  static void point() {
    if (silent == 0) {
      ::pthread_setcancelstate(previous_state, nullptr);
      ::pthread_testcancel();
      ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    }
  }

 private:
  static constinit inline thread_local unsigned depth = 0;
  static constinit inline thread_local unsigned silent = 0;
  static constinit inline thread_local int previous_state = PTHREAD_CANCEL_ENABLE;

  bool silent_;
};

}  // namespace tutti::detail::core
