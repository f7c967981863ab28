// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/expects.hpp>
#include <tutti/core/time.hpp>

namespace tutti {

/// A deadline, or a limit to a wait, as a caller gives it.
/// @throws precondition_error if it is negative: the difference of two times, perhaps, and certainly no deadline
constexpr duration expect_deadline(duration d) {
  expects(d >= duration::zero(), "a deadline is not negative: tutti::no_deadline is none");
  return d;
}

}  // namespace tutti
