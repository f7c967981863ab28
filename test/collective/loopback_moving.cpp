// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_loopback_moving
#include <laws/all_topologies.hpp>
#include <laws/moving_operators.hpp>
#include <support/worlds.hpp>
#include <tutti/transport/loopback.hpp>

BOOST_AUTO_TEST_CASE(moved_elements_arrive_where_they_belong) {
  for (auto const n : laws::world_sizes) {
    support::agree<tutti::loopback>(n, [](auto& world) {
      return laws::all_topologies::each(
          [&](auto topology) { return laws::moving<laws::triple>(world, topology, 1023); });
    });
  }
}
