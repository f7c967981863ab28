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
class uncancelled {
 public:
  enum class points { some, none };

  /// With points::none, points of waits inside the block do nothing, too.
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

  /// Ends a cancelled thread here. @pre cancellation is disabled, and no caller is noexcept
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
