// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/trace.hpp>

namespace tutti::inline v0_1_0 {

/// Records nothing.
///
/// Cost: nothing; it is empty, and no event is made for it.
/// Thread safety: any thread.
struct no_trace {
  /// True if anything is recorded; false costs nothing.
  static constexpr bool enabled = false;
  /// Records an event; called by the rank's own thread.
  constexpr void record(event const&) noexcept {}
};

}  // namespace tutti
