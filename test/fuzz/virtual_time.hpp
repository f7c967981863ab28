// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Replaces waiting in this program by time that has passed: a fuzz target tries patience without having any.

namespace fuzz {

inline std::atomic<long long> slept{0};  ///< nanoseconds

/// Lets time pass, and a lot more of it, so that a program that waits looks only a few times.
inline void pass(long long nanoseconds) noexcept {
  slept += 20 * nanoseconds;
}

/// Acts for the peers of a program that waits. Returns false if they have nothing more to say.
inline bool (*when_idle)() = nullptr;

}  // namespace fuzz

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  long const result = ::syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_MONOTONIC) {
    long long const nanoseconds = time->tv_nsec + fuzz::slept;
    time->tv_sec += static_cast<time_t>(nanoseconds / 1'000'000'000);
    time->tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
  }
  return static_cast<int>(result);
}

extern "C" int nanosleep(timespec const* time, timespec*) {
  fuzz::pass(time->tv_sec * 1'000'000'000LL + time->tv_nsec);
  return 0;
}

extern "C" int poll(pollfd* set, nfds_t size, int timeout) {
  timespec const none{};
  int ready = ::ppoll(set, size, &none, nullptr);
  while (ready == 0 && timeout != 0 && fuzz::when_idle != nullptr && fuzz::when_idle()) {
    ready = ::ppoll(set, size, &none, nullptr);
  }
  if (ready == 0) {
    fuzz::pass(timeout * 1'000'000LL);
  }
  return ready;
}
