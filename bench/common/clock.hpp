// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <sys/resource.h>

namespace bench {

/// Nanoseconds on one of the system's clocks.
inline std::int64_t read(clockid_t clock) noexcept {
  timespec t{};
  ::clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// Nanoseconds on a clock that all processes of a host share.
inline std::int64_t now() noexcept {
  return read(CLOCK_MONOTONIC);
}

/// Resources that a rank has used since its start: of a process with its helper threads, or of one thread where ranks
/// are threads.
struct resource_usage {
  std::int64_t processor = 0;  ///< nanoseconds; not from getrusage, which counts only ticks for threads
  std::int64_t switches = 0;   ///< context switches, voluntary or not

  static resource_usage total(bool thread) noexcept {
    rusage u{};
    ::getrusage(thread ? RUSAGE_THREAD : RUSAGE_SELF, &u);
    return {read(thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID), u.ru_nvcsw + u.ru_nivcsw};
  }
  friend resource_usage operator-(resource_usage const& a, resource_usage const& b) noexcept {
    return {a.processor - b.processor, a.switches - b.switches};
  }
};

}  // namespace bench
