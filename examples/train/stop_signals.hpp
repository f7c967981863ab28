// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/abort_handle.hpp>
#include <tutti/extend/transport.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <list>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>

/// The signals by which schedulers announce the end of a job.
inline constexpr int stop_signals[] = {SIGTERM, SIGUSR1};

/// The last such signal of any process of this program, in memory that forked ranks share with their parent; null
/// before `handle_stop_signals`.
inline std::atomic<int>* stop_request = nullptr;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler writes it");

/// The world that a signal ends at once, as it keeps no checkpoints; null: none.
inline std::atomic<tutti::abort_handle const*> world_to_end = nullptr;
static_assert(std::atomic<tutti::abort_handle const*>::is_always_lock_free, "a signal handler reads it");

inline char const* signal_name(int signal) noexcept {
  return signal == SIGTERM ? "SIGTERM" : "SIGUSR1";
}

/// Ends that world if a process of this program on this host has received a signal. Async-signal-safe.
inline void end_world_after_signal() noexcept {
  tutti::abort_handle const* const world = world_to_end.load();
  int const signal = world != nullptr ? stop_request->load() : 0;
  if (signal != 0) {
    (*world)(signal_name(signal));
  }
}

/// Lets signals end this world from now on, rather than the one before it. Collective over the ranks of a process.
template <class Communicator>
void let_signals_end(Communicator const& world) {
  // A handler in another thread may still use an earlier one, also while the program ends.
  static auto& handles = *new std::list<tutti::abort_handle>;
  if (!tutti::in_process<typename Communicator::transport_type> || world.rank() == 0) {
    world_to_end.store(&handles.emplace_back(world.aborter()));
    end_world_after_signal();
  }
}

/// The signal by which a rank has ended the world, as the text of an error says; 0: none.
inline int signal_in(std::string_view error_text) noexcept {
  for (int const signal : stop_signals) {
    if (error_text.ends_with(std::string(": ") + signal_name(signal))) {
      return signal;
    }
  }
  return 0;
}

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
    stop_request->store(signal);
    end_world_after_signal();
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
  return "stopped after step " + std::to_string(step) + " by " + signal_name(signal);
}

/// Advice for the reader after `stop_text`.
inline std::string resume_text(std::string const& folder) {
  return "; a checkpoint is in " + folder + "; continue with the same command and --resume";
}
