// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/in_flight.hpp>
#include <support/transports.hpp>
#include <support/worlds.hpp>
#include <tutti/detail/engine/segmented_operation.hpp>
#include <tutti/detail/engine/segments.hpp>

BOOST_AUTO_TEST_CASE_TEMPLATE(many_operations_at_once_do_not_mix, Transport, support::transports_of_the_engine) {
  for (tutti::rank_type const n : {1U, 2U, 3U, 5U, 8U}) {
    support::agree<Transport>(n, [](auto& world) { return laws::many_in_flight(world, 60); });
  }
}
BOOST_AUTO_TEST_CASE_TEMPLATE(vectors_may_be_larger_than_every_buffer, Transport, support::transports_of_the_engine) {
  for (tutti::rank_type const n : {2U, 3U, 4U}) {
    support::agree<Transport>(n, [](auto& world) { return laws::large(world, 400'003); });
  }
}
BOOST_AUTO_TEST_CASE_TEMPLATE(a_planned_schedule_gives_the_same_bits, Transport, support::transports_of_the_engine) {
  for (tutti::rank_type const n : {1U, 3U, 6U}) {
    support::agree<Transport>(n, [](auto& world) {
      auto const complaint = laws::planned_equals(world, tutti::ring{});
      return complaint.empty() ? laws::planned_equals(world, tutti::butterfly{}) : complaint;
    });
  }
}
BOOST_AUTO_TEST_CASE_TEMPLATE(parts_of_a_world_are_worlds, Transport, support::transports_of_the_engine) {
  for (tutti::rank_type const n : {1U, 2U, 5U, 8U}) {
    support::agree<Transport>(n, [](auto& world) { return laws::splits(world); });
  }
}
