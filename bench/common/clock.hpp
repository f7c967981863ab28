// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <sys/resource.h>

namespace bench {

/// Nanoseconds on a clock that all processes of a host share.
inline std::int64_t now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// What a rank has used: all of a process with its helpers, or one thread where ranks are threads.
struct used {
  std::int64_t user = 0;  ///< nanoseconds of processor time
  std::int64_t system = 0;
  std::int64_t switches = 0;  ///< times that it gave up or lost its core

  static used by_now(bool thread) noexcept {
    rusage u{};
    ::getrusage(thread ? RUSAGE_THREAD : RUSAGE_SELF, &u);
    auto const ns = [](timeval t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_usec * 1000; };
    return {ns(u.ru_utime), ns(u.ru_stime), u.ru_nvcsw + u.ru_nivcsw};
  }
  friend used operator-(used const& a, used const& b) noexcept {
    return {a.user - b.user, a.system - b.system, a.switches - b.switches};
  }
};

}  // namespace bench
