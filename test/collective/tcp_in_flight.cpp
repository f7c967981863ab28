// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_tcp_in_flight
#include <laws/in_flight.hpp>
#include <support/worlds.hpp>
#include <tutti/transport/tcp.hpp>

BOOST_AUTO_TEST_CASE(many_operations_at_once_do_not_mix) {
  for (tutti::rank_type const n : {1U, 2U, 3U, 5U, 8U}) {
    support::agree<tutti::tcp>(n, [](auto& world) { return laws::many_in_flight(world, 60); });
  }
}

BOOST_AUTO_TEST_CASE(vectors_may_be_larger_than_every_buffer) {
  for (tutti::rank_type const n : {2U, 3U, 4U}) {
    support::agree<tutti::tcp>(n, [](auto& world) { return laws::large(world, 400'003); });
  }
}

BOOST_AUTO_TEST_CASE(a_planned_schedule_gives_the_same_bits) {
  for (tutti::rank_type const n : {1U, 3U, 6U}) {
    support::agree<tutti::tcp>(n, [](auto& world) {
      auto const complaint = laws::planned_equals(world, tutti::ring{});
      return complaint.empty() ? laws::planned_equals(world, tutti::butterfly{}) : complaint;
    });
  }
}

BOOST_AUTO_TEST_CASE(parts_of_a_world_are_worlds) {
  for (tutti::rank_type const n : {1U, 2U, 5U, 8U}) {
    support::agree<tutti::tcp>(n, [](auto& world) { return laws::splits(world); });
  }
}
