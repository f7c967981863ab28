// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/watched.hpp>
#include <tutti/topology/selection.hpp>

#include <algorithm>
#include <optional>

namespace laws {

/// The kind of selection that equals this topology, if there is one.
template <class Topology>
[[nodiscard]] constexpr std::optional<tutti::schedule_kind> selected_kind() {
  for (tutti::schedule_kind const kind : tutti::all_schedule_kinds) {
    if (tutti::name(kind) == Topology::name) {
      return kind;
    }
  }
  return std::nullopt;
}

/// The topology that an operator is made with: this one or, under a sanitizer, a selection of it. A selection is one
/// type for all topologies, so a sanitizer's engine is compiled once for each operator instead of eight times. The
/// steps are equal.
template <class Topology>
[[nodiscard]] constexpr auto run_as(Topology const& topology) {
  if constexpr (support::is_watched && selected_kind<Topology>()) {
    return tutti::selection(*selected_kind<Topology>());
  } else {
    return topology;
  }
}

}  // namespace laws
