// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_tcp_sum
#include <laws/all_topologies.hpp>
#include <laws/reducing_operators.hpp>
#include <support/worlds.hpp>
#include <tutti/transport/tcp.hpp>

BOOST_AUTO_TEST_CASE(sums_equal_the_sequential_answer) {
  for (auto const n : laws::world_sizes) {
    support::agree<tutti::tcp>(n, [](auto& world) {
      return laws::all_topologies::each(
          [&](auto topology) { return laws::reducing(world, topology, tutti::sum<float>{}, 4099); });
    });
  }
}
