// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>

#include <string>
#include <sys/types.h>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// A forked process. The destructor kills it if it still runs, and reaps it.
class child {
 public:
  child() noexcept = default;
  child(child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        status_(other.status_),
        is_over_(other.is_over_),
        is_status_known_(other.is_status_known_) {}
  child& operator=(child&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(status_, other.status_);
    std::swap(is_over_, other.is_over_);
    std::swap(is_status_known_, other.is_status_known_);
    return *this;
  }
  ~child();

  /// Forks. The child runs `body(descriptor)` with the descriptor `child_end`, the only one that it inherits, and then
  /// ends at once without exit handlers and destructors: only its output to stdout and stderr is flushed. The child is
  /// killed when the calling thread ends, so that it cannot outlive its parent.
  ///
  /// The parent's output to stdout and stderr is written first. No other stream is touched and no stream's lock is
  /// waited for: another thread may hold one for long, that of stdin until somebody types.
  /// @throws error(failure::join) if the system gives no process
  template <class Body>
  [[nodiscard]] static child start(descriptor child_end, Body&& body) {
    return start(
        std::move(child_end),
        [](void* object, descriptor socket) {
          (*static_cast<std::remove_reference_t<Body>*>(object))(std::move(socket));
        },
        &body);
  }

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// True if the process has ended. Does not wait.
  bool has_ended() noexcept;

  /// The signal that killed the process; 0 if there was none or it is unknown. @pre the process has ended
  [[nodiscard]] int signal() const noexcept;
  /// The exit status, or 0. @pre the process has ended
  [[nodiscard]] int status() const noexcept;

  /// "was killed by signal 9 (Killed)", "exited with status 3". The system reports the end of a process only once: it
  /// is unknown here if the program ignores SIGCHLD or waits for all children itself. @pre the process has ended
  [[nodiscard]] std::string end_text() const;

 private:
  using body_call = void (*)(void* body, descriptor child_end);

  [[nodiscard]] static child start(descriptor child_end, body_call call, void* body);
  [[noreturn]] static void run(pid_t parent, body_call call, void* body, descriptor child_end);

  pid_t pid_ = -1;
  int status_ = 0;
  bool is_over_ = false;
  bool is_status_known_ = false;  ///< the system has reported how the process ended
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/child.ipp>
#endif
