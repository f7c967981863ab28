// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <exception>
#include <pthread.h>

namespace tutti::inline v0_1_0::detail::inline core {

/// True in a handler that has caught what pthread_cancel and pthread_exit unwind a thread by, which is no exception of
/// C++. The handler must throw it again.
[[nodiscard]] inline bool is_forced_unwind() noexcept {
  return std::current_exception() == nullptr;
}

/// Holds pthread_cancel back on this thread until the end of the block: what the library does in the system is no
/// cancellation point, as its bookkeeping, and its destructors, could not be left in the middle. A wait has points of
/// its own, between naps.
///
/// Cost: 6 ns, so it is for what makes system calls.
class uncancelled {
 public:
  enum class points { some, none };

  /// With points::none, those of waits inside hold it back, too.
  explicit uncancelled(points in = points::some) noexcept : silent_(in == points::none) {
    begin();
    silent += silent_ ? 1U : 0U;
  }
  uncancelled(uncancelled const&) = delete;
  uncancelled& operator=(uncancelled const&) = delete;
  ~uncancelled() {
    silent -= silent_ ? 1U : 0U;
    end();
  }

  static void begin() noexcept {
    if (depth++ == 0) {
      ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    }
  }
  static void end() noexcept {
    if (--depth == 0) {
      ::pthread_setcancelstate(before, nullptr);
    }
  }

  /// Lets a thread end here that was cancelled. @pre cancellation is held back, and no caller is noexcept
  static void point() {
    if (silent == 0) {
      ::pthread_setcancelstate(before, nullptr);
      ::pthread_testcancel();
      ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    }
  }

 private:
  static constinit inline thread_local unsigned depth = 0;
  static constinit inline thread_local unsigned silent = 0;
  static constinit inline thread_local int before = PTHREAD_CANCEL_ENABLE;

  bool silent_;
};

}  // namespace tutti::detail::core
