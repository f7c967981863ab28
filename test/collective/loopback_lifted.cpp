// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_loopback_lifted
#include <laws/all_topologies.hpp>
#include <laws/reducing_operators.hpp>
#include <support/worlds.hpp>
#include <tutti/transport/loopback.hpp>

BOOST_AUTO_TEST_CASE(accumulators_need_not_be_elements) {
  for (auto const n : laws::world_sizes) {
    support::agree<tutti::loopback>(n, [](auto& world) {
      return laws::all_topologies::each(
          [&](auto topology) { return laws::reducing(world, topology, laws::wide_mean{}, 1023); });
    });
  }
}
