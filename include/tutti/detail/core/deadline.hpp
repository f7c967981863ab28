// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>

namespace tutti::inline v0_1_0::detail::inline core {

/// Checks a deadline, or the limit of a wait, from a caller.
/// @throws precondition_error if it is negative, like a wrong difference of two times
constexpr duration expect_deadline(duration deadline) {
  expects(deadline >= duration::zero(), "a deadline must be 0 ns or more, not ", deadline.count(),
          "; tutti::no_deadline is none");
  return deadline;
}

/// Limits a waiting time from a caller to a year, so that `no_deadline` may be added to a time.
/// @throws precondition_error if it is negative
[[nodiscard]] constexpr duration finite_patience(duration patience) {
  constexpr duration year = std::chrono::hours(24 * 365);
  return expect_deadline(patience) < year ? patience : year;
}
}  // namespace tutti::detail::core
