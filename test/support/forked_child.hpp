// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

/// Forks a child that calls f and ends.
/// @returns true if it ends within 20 seconds and without an exception; a slower child is killed
template <class F>
[[nodiscard]] bool ends_in_a_forked_child(F const& f) {
  ::pid_t const child = ::fork();
  if (child == 0) {
    try {
      f();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  if (child < 0) {
    return false;
  }
  int status = 0;
  ::pid_t finished_child = 0;
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while ((finished_child = ::waitpid(child, &status, WNOHANG)) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(child, SIGKILL);
    }
    std::this_thread::yield();
  }
  return finished_child == child && status == 0;
}
