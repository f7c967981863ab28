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
  uncancelled const while_writing;
  if (::ftrylockfile(stream) == 0) {
    std::fflush(stream);
    ::funlockfile(stream);
  }
}

TUTTI_DECL child::~child() {
  uncancelled const while_waiting;
  if (pid_ > 0 && !has_ended()) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

TUTTI_DECL child child::start(descriptor for_it, body_call call, void* body) {
  flush_unlocked(stdout);
  flush_unlocked(stderr);
  pid_t const parent = ::getpid();
  int const inherited = for_it.release();
  pid_t const pid = ::fork();
  for_it = descriptor([&] { return inherited; });
  if (pid < 0) {
    throw error(failure::join, "cannot start a process: " + describe_errno(errno) +
                                   "; start fewer ranks or allow more processes (ulimit -u)");
  }
  if (pid == 0) {
    run(parent, call, body, std::move(for_it));
  }
  child c;
  c.pid_ = pid;
  return c;
}

TUTTI_DECL void child::run(pid_t parent, body_call call, void* body, descriptor own) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::__fpurge(stdout);  // the parent writes its buffered output itself
  ::__fpurge(stderr);
  if (::getppid() == parent) {  // otherwise the parent died before prctl
    struct end {
      ~end() {  // runs also when pthread_exit unwinds the thread
        std::fflush(stdout);
        std::fflush(stderr);
        ::_exit(0);
      }
    } const after_it;
    call(body, std::move(own));
  }
  ::_exit(0);
}

TUTTI_DECL bool child::has_ended() noexcept {
  if (!over_) {
    pid_t const got = ::waitpid(pid_, &status_, WNOHANG);
    known_ = got == pid_;
    over_ = known_ || (got < 0 && errno != EINTR);  // ECHILD: the program has reaped the child itself
  }
  return over_;
}

TUTTI_DECL int child::signal() const noexcept {
  return known_ && WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
}
TUTTI_DECL int child::status() const noexcept {
  return known_ && WIFEXITED(status_) ? WEXITSTATUS(status_) : 0;
}

TUTTI_DECL std::string child::end_text() const {
  if (!known_) {
    return "ended with an unknown status (this program ignores SIGCHLD, or waits for all children itself),";
  }
  if (int const s = signal(); s != 0) {
    char const* const name = ::strsignal(s);
    return "was killed by signal " + std::to_string(s) + " (" + (name != nullptr ? name : "?") + ")";
  }
  return "exited with status " + std::to_string(status());
}

}  // namespace tutti::detail::bootstrap
