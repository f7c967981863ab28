// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/in_flight.hpp>
#include <support/cases.hpp>
#include <support/worlds.hpp>

namespace laws {

/// The test cases of operations under way at once, over one transport.
template <class Transport>
struct in_flight {
  static support::cases all() {
    return {{"many_operations_at_once_do_not_mix", many_operations_at_once_do_not_mix},
            {"vectors_may_be_larger_than_every_buffer", vectors_may_be_larger_than_every_buffer},
            {"a_planned_schedule_gives_the_same_bits", a_planned_schedule_gives_the_same_bits},
            {"parts_of_a_world_are_worlds", parts_of_a_world_are_worlds}};
  }

  static void many_operations_at_once_do_not_mix() {
    for (rank_type const n : {1U, 2U, 3U, 5U, 8U}) {
      support::agree<Transport>(n, [](auto& world) { return many_in_flight(world, 60); });
    }
  }
  static void vectors_may_be_larger_than_every_buffer() {
    for (rank_type const n : {2U, 3U, 4U}) {
      support::agree<Transport>(n, [](auto& world) { return large(world, 400'003); });
    }
  }
  static void a_planned_schedule_gives_the_same_bits() {
    for (rank_type const n : {1U, 3U, 6U}) {
      support::agree<Transport>(n, [](auto& world) {
        auto const complaint = planned_equals(world, tutti::ring{});
        return complaint.empty() ? planned_equals(world, tutti::butterfly{}) : complaint;
      });
    }
  }
  static void parts_of_a_world_are_worlds() {
    for (rank_type const n : {1U, 2U, 5U, 8U}) {
      support::agree<Transport>(n, [](auto& world) { return splits(world); });
    }
  }
};

}  // namespace laws
