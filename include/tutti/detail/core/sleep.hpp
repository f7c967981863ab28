// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>

#include <cerrno>
#include <ctime>

namespace tutti::inline v0_1_0::detail::inline core {

/// Blocks the calling thread for a time: std::this_thread::sleep_for, without <thread>.
inline void sleep_for(duration d) {
  constexpr long long second = 1'000'000'000;
  timespec left{};
  left.tv_sec = static_cast<std::time_t>(d.count() / second);
  left.tv_nsec = static_cast<long>(d.count() % second);
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

}  // namespace tutti::detail::core
