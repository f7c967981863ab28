// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/trace.hpp>

namespace tutti::inline v0_1_0 {

/// Records nothing.
///
/// Cost: nothing; it is empty, and no event is made for it.
/// Thread safety: any thread.
struct no_trace {
  static constexpr bool enabled = false;
  constexpr void record(event const&) noexcept {}
};

}  // namespace tutti
