// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/mman.h>

/// The signals by which schedulers announce the end of a job.
inline constexpr int stop_signals[] = {SIGTERM, SIGUSR1};

/// The last such signal of any process of this program, in memory that forked ranks share with their parent; null
/// before `handle_stop_signals`.
inline std::atomic<int>* stop_request = nullptr;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler writes it");

/// Notes a signal in `stop_request`, once; a second signal has its default action, which ends the process.
inline void handle_stop_signals() {
  if (stop_request != nullptr) {
    return;
  }
  void* const memory =
      ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::runtime_error(std::string("cannot share memory among the ranks of this host: ") + std::strerror(errno) +
                             "; allow this process more memory (ulimit -v)");
  }
  stop_request = new (memory) std::atomic<int>(0);
  struct sigaction action {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](int signal) {
    stop_request->store(signal, std::memory_order_relaxed);
    for (int const number : stop_signals) {
      std::signal(number, SIG_DFL);
    }
  };
  for (int const signal : stop_signals) {
    ::sigaddset(&action.sa_mask, signal);
  }
  for (int const signal : stop_signals) {
    ::sigaction(signal, &action, nullptr);
  }
}

/// "stopped after step 12 by SIGTERM", for the reader.
inline std::string stop_text(std::uint64_t step, int signal) {
  return "stopped after step " + std::to_string(step) + " by " + (signal == SIGTERM ? "SIGTERM" : "SIGUSR1");
}

/// Advice for the reader after `stop_text`.
inline std::string resume_text(std::string const& folder) {
  return "; a checkpoint is in " + folder + "; continue with the same command and --resume";
}
