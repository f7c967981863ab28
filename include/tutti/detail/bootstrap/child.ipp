// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/child.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/extend/error.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdio_ext.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// Writes buffered output of this program, so that it precedes the child's. A stream that another thread has locked is
/// skipped: that thread may block for long, on a pipe that nobody reads.
inline void flush_unlocked(std::FILE* stream) noexcept {
  cancellation_shield const while_writing;
  if (::ftrylockfile(stream) == 0) {
    std::fflush(stream);
    ::funlockfile(stream);
  }
}

TUTTI_DECL child::~child() {
  cancellation_shield const while_waiting;
  if (pid_ > 0 && !has_ended()) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

TUTTI_DECL child child::start(descriptor child_end, body_call call, void* body) {
  flush_unlocked(stdout);
  flush_unlocked(stderr);
  pid_t const parent = ::getpid();
  int const number = child_end.release();
  pid_t const pid = ::fork();
  child_end = descriptor([&] { return number; });
  if (pid < 0) {
    throw error(failure::join, "cannot start a process: " + describe_errno(errno) +
                                   "; start fewer ranks or allow more processes (ulimit -u)");
  }
  if (pid == 0) {
    run(parent, call, body, std::move(child_end));
  }
  child started_child;
  started_child.pid_ = pid;
  return started_child;
}

TUTTI_DECL void child::run(pid_t parent, body_call call, void* body, descriptor child_end) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::__fpurge(stdout);  // the parent writes its buffered output itself
  ::__fpurge(stderr);
  if (::getppid() == parent) {  // otherwise the parent died before prctl
    struct exit_guard {
      ~exit_guard() {  // runs also when pthread_exit unwinds the thread
        std::fflush(stdout);
        std::fflush(stderr);
        ::_exit(0);
      }
    } const guard;
    call(body, std::move(child_end));
  }
  ::_exit(0);
}

TUTTI_DECL bool child::has_ended() noexcept {
  if (!is_over_) {
    pid_t const reaped_pid = ::waitpid(pid_, &status_, WNOHANG);
    is_status_known_ = reaped_pid == pid_;
    is_over_ =
        is_status_known_ || (reaped_pid < 0 && errno != EINTR);  // ECHILD: the program has reaped the child itself
  }
  return is_over_;
}

TUTTI_DECL int child::signal() const noexcept {
  return is_status_known_ && WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
}
TUTTI_DECL int child::status() const noexcept {
  return is_status_known_ && WIFEXITED(status_) ? WEXITSTATUS(status_) : 0;
}

TUTTI_DECL std::string child::end_text() const {
  if (!is_status_known_) {
    return "ended with an unknown status (this program ignores SIGCHLD, or waits for all children itself),";
  }
  if (int const number = signal(); number != 0) {
    char const* const name = ::strsignal(number);
    return "was killed by signal " + std::to_string(number) + " (" + (name != nullptr ? name : "?") + ")";
  }
  return "exited with status " + std::to_string(status());
}

}  // namespace tutti::detail::bootstrap
