// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/all_topologies.hpp>
#include <laws/moving_operators.hpp>
#include <laws/reducing_operators.hpp>
#include <laws/world_sizes.hpp>
#include <support/transports.hpp>
#include <support/worlds.hpp>

#include <type_traits>

/// Shared by the programs of the operators. Each program tests one operator, over all transports and topologies, in
/// worlds of every size.
namespace laws {

/// Runs check(world, topology) for every world size and topology.
template <class Transport, class Check>
void over_all_topologies(Check check) {
  for (auto const n : std::is_same_v<Transport, tutti::loopback> ? world_sizes : sizes_of_processes) {
    support::agree<Transport>(n, [&](auto& world) {
      return all_topologies::first_complaint([&](auto topology) { return check(world, topology); });
    });
  }
}

}  // namespace laws
