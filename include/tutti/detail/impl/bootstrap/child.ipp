// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/child.hpp>
#include <tutti/error.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail {

TUTTI_DECL child::~child() {
  if (pid_ > 0 && !over_) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

TUTTI_DECL child child::start(descriptor for_it, body_call call, void* body) {
  std::fflush(nullptr);  // or the child would write what is in the buffers a second time
  pid_t const parent = ::getpid();
  int const inherited = for_it.release();
  pid_t const pid = ::fork();
  for_it.reset(inherited);
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

TUTTI_DECL void child::run(pid_t parent, body_call call, void* body, descriptor own) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == parent) {  // else it died before the line above
    call(body, std::move(own));
    std::fflush(stdout);
    std::fflush(stderr);
  }
  ::_exit(0);
}

TUTTI_DECL bool child::has_ended() noexcept {
  if (!over_) {
    pid_t const got = ::waitpid(pid_, &status_, WNOHANG);
    // ECHILD: the program ignores SIGCHLD, so the system has buried it without telling how it ended
    over_ = got == pid_ || (got < 0 && errno != EINTR);
  }
  return over_;
}

TUTTI_DECL int child::signal() const noexcept {
  return WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
}
TUTTI_DECL int child::status() const noexcept {
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 0;
}

TUTTI_DECL std::string child::end_text() const {
  if (int const s = signal(); s != 0) {
    char const* const name = ::strsignal(s);
    return "was killed by signal " + std::to_string(s) + " (" + (name != nullptr ? name : "?") + ")";
  }
  return "exited with status " + std::to_string(status());
}

}  // namespace tutti::detail
