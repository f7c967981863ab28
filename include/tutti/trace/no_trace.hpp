// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/trace/concept.hpp>

namespace tutti {

/// Records nothing and costs nothing: empty, and no event is made for it.
struct no_trace {
  static constexpr bool enabled = false;
  constexpr void record(event const&) noexcept {}
};

}  // namespace tutti
