// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/watched.hpp>
#include <tutti/topology/selection.hpp>
#include <tutti/transport/loopback.hpp>

#include <optional>
#include <type_traits>

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

/// True if the engine is compiled for each type of topology over this world: over threads, and without a sanitizer.
template <class World>
inline constexpr bool compiles_each_topology =
    !support::is_watched && std::is_same_v<typename World::transport_type, tutti::loopback>;

/// The topology that an operator over this world is made with: this one, or a selection of it. A selection is one type
/// for all topologies, so the engine is compiled once for each operator instead of eight times. The steps are equal.
template <class World, class Topology>
[[nodiscard]] constexpr auto run_as(World const& /*world*/, Topology const& topology) {
  if constexpr (!compiles_each_topology<World> && selected_kind<Topology>()) {
    return tutti::selection(*selected_kind<Topology>());
  } else {
    return topology;
  }
}

}  // namespace laws
