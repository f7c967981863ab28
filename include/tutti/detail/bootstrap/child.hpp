// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/error.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace tutti::detail {

/// A forked process, and the duty to bury it: destroying one that still runs kills it and waits.
class child {
 public:
  child() noexcept = default;
  child(child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), status_(other.status_), over_(other.over_) {}
  child& operator=(child&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(status_, other.status_);
    std::swap(over_, other.over_);
    return *this;
  }
  ~child() {
    if (pid_ > 0 && !over_) {
      ::kill(pid_, SIGKILL);
      while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  /// Forks. The child runs `body(descriptor)`, to which the descriptor `for_it` goes, the only one that it inherits,
  /// and then ends at once, with no exit handler, no destructor and no buffer of the parent's: only what it wrote to
  /// stdout and stderr itself is flushed. It is killed when the thread that called this ends, so that it cannot outlive
  /// its parent.
  /// @throws error(failure::join) if the system gives no process
  template <class Body>
  [[nodiscard]] static child start(descriptor for_it, Body&& body) {
    std::fflush(nullptr);  // or the child would write what is in the buffers a second time
    pid_t const parent = ::getpid();
    int const inherited = for_it.release();
    pid_t const pid = ::fork();
    for_it.reset(inherited);
    if (pid < 0) {
      throw error(failure::join, "cannot start a process: " + std::string(std::strerror(errno)) +
                                     "; start fewer ranks or allow more processes (ulimit -u)");
    }
    if (pid == 0) {
      run(parent, body, static_cast<descriptor&&>(for_it));
    }
    child c;
    c.pid_ = pid;
    return c;
  }

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// Whether it has ended. Does not wait.
  bool has_ended() noexcept {
    if (!over_) {
      pid_t const got = ::waitpid(pid_, &status_, WNOHANG);
      // ECHILD: the program ignores SIGCHLD, so the system has buried it without telling how it ended
      over_ = got == pid_ || (got < 0 && errno != EINTR);
    }
    return over_;
  }

  /// The signal that killed it, or 0. @pre it has ended
  [[nodiscard]] int signal() const noexcept { return WIFSIGNALED(status_) ? WTERMSIG(status_) : 0; }
  /// The status that it exited with, or 0. @pre it has ended
  [[nodiscard]] int status() const noexcept { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 0; }

  /// "was killed by signal 9 (Killed)", "exited with status 3". @pre it has ended
  [[nodiscard]] std::string end_text() const {
    if (int const s = signal(); s != 0) {
      char const* const name = ::strsignal(s);
      return "was killed by signal " + std::to_string(s) + " (" + (name != nullptr ? name : "?") + ")";
    }
    return "exited with status " + std::to_string(status());
  }

 private:
  template <class Body>
  [[noreturn]] static void run(pid_t parent, Body& body, descriptor own) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) {  // else it died before the line above
      body(static_cast<descriptor&&>(own));
      std::fflush(stdout);
      std::fflush(stderr);
    }
    ::_exit(0);
  }

  pid_t pid_ = -1;
  int status_ = 0;
  bool over_ = false;
};

}  // namespace tutti::detail
