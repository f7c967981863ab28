// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <shared_mutex>  // std::chrono durations without the calendar, and without the streams that <thread> parses

namespace tutti::inline v0_1_0 {

/// A span of time.
using duration = std::chrono::nanoseconds;
/// A point in time on a transport's own clock (virtual for a simulated one).
using time_point = std::chrono::nanoseconds;

/// The deadline of operations without one: the longest duration, so that it needs no case of its own.
inline constexpr duration no_deadline = (duration::max)();

/// The clock of transports in real time.
[[nodiscard]] inline time_point steady_now() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace tutti
