// SPDX-License-Identifier: Apache-2.0
// test: address (the engine is the same for other topologies)
#include <laws/groupings.hpp>
#include <laws/moving_operators.hpp>
#include <laws/reducing_operators.hpp>
#include <support/worlds.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/double_tree.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

using tutti::binary_tree;
using tutti::doubling;
using tutti::hierarchical;
using tutti::loopback;
using tutti::ring;

/// Runs check(world, ranks per host) in every grouping.
template <class Check>
void in_every_grouping(Check check) {
  for (auto const g : laws::groupings) {
    support::agree<loopback>(g.ranks, [&](auto& world) { return check(world, g.per_host); });
  }
}

BOOST_AUTO_TEST_CASE(sums_equal_the_sequential_answer) {
  in_every_grouping([](auto& world, tutti::rank_type per_host) {
    std::string complaint =
        laws::reducing(world, hierarchical{binary_tree{}, ring{}, per_host}, tutti::sum<float>{}, 4099);
    return complaint.empty()
               ? laws::reducing(world, hierarchical{ring{}, tutti::double_tree{}, per_host}, tutti::sum<float>{}, 4099)
               : complaint;
  });
}

BOOST_AUTO_TEST_CASE(operators_that_do_not_commute_keep_rank_order) {
  in_every_grouping([](auto& world, tutti::rank_type per_host) {
    std::string complaint =
        laws::reducing(world, hierarchical{binary_tree{}, doubling{}, per_host}, laws::composition{}, 1023);
    return complaint.empty() ? laws::reducing(world, hierarchical{doubling{}, tutti::butterfly{}, per_host},
                                              laws::composition{}, 1023)
                             : complaint;
  });
}

BOOST_AUTO_TEST_CASE(accumulators_need_not_be_elements) {
  in_every_grouping([](auto& world, tutti::rank_type per_host) {
    std::string complaint = laws::reducing(world, hierarchical{ring{}, ring{}, per_host}, laws::wide_mean{}, 1023);
    return complaint.empty()
               ? laws::reducing(world, hierarchical{doubling{}, doubling{}, per_host}, laws::wide_mean{}, 1023)
               : complaint;
  });
}

BOOST_AUTO_TEST_CASE(moved_elements_arrive_where_they_belong) {
  in_every_grouping([](auto& world, tutti::rank_type per_host) {
    return laws::moving<laws::triple>(world, hierarchical{tutti::butterfly{}, ring{}, per_host}, 1023);
  });
}

// The world's own host map: all ranks are on one host.
BOOST_AUTO_TEST_CASE(a_world_tells_its_hosts) {
  support::agree<loopback>(5, [](auto& world) -> std::string {
    if (world.hosts().hosts() != 1 || world.local_size() != 5 || world.local_rank() != world.rank()) {
      return "five threads are on " + std::to_string(world.hosts().hosts()) + " hosts";
    }
    return laws::reducing(world, hierarchical{binary_tree{}, ring{}, world.hosts()}, tutti::sum<int>{}, 1023);
  });
}
