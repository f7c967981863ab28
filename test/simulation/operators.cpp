// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (the engine is the same over loopback, one thread)
#include <laws/all_topologies.hpp>
#include <laws/in_flight.hpp>
#include <laws/moving_operators.hpp>
#include <laws/reducing_operators.hpp>
#include <laws/world_sizes.hpp>
#include <simulation/worlds.hpp>
#include <tutti/reduction/fixed_point_sum.hpp>

#include <string>
#include <type_traits>
#include <vector>

// The laws of the operators, in virtual time.

BOOST_AUTO_TEST_CASE(sums_equal_the_sequential_answer) {
  for (auto const n : laws::world_sizes) {
    support::agree_in_virtual_time(n, [](auto& world) {
      return laws::topologies_with_aggregators::first_complaint(
          [&](auto topology) { return laws::reducing(world, topology, tutti::sum<float>{}, 1023); });
    });
  }
}

BOOST_AUTO_TEST_CASE(accumulators_need_not_be_elements) {
  for (auto const n : laws::world_sizes) {
    support::agree_in_virtual_time(n, [](auto& world) {
      return laws::topologies_with_aggregators::first_complaint(
          [&](auto topology) { return laws::reducing(world, topology, laws::wide_mean{}, 1023); });
    });
  }
}

// Ranks lift the values that a switch adds.
BOOST_AUTO_TEST_CASE(a_switch_adds_fixed_point_numbers) {
  for (tutti::rank_type const n : {1U, 2U, 5U, 8U}) {
    support::agree_in_virtual_time(n, [](auto& world) -> std::string {
      tutti::fixed_point_sum const reduction{1000, world.size()};
      tutti::allreduce sum{world, tutti::in_network{}, reduction};
      tutti::allreduce reference{world, tutti::ring{}, reduction};
      static_assert(tutti::has_aggregators<std::remove_cvref_t<decltype(sum.topology())>, tutti::op::allreduce>);
      std::vector<float> v(1023);
      for (std::size_t i = 0; i != v.size(); ++i) {
        v[i] = static_cast<float>(i * (world.rank() + 1)) / 7;
      }
      auto expected = v;
      sum(v);
      reference(expected);
      return v == expected ? "" : "other sums than a ring's";
    });
  }
}

BOOST_AUTO_TEST_CASE(order_is_kept) {
  for (auto const n : laws::world_sizes) {
    support::agree_in_virtual_time(n, [](auto& world) {
      return laws::topologies_with_aggregators::first_complaint(
          [&](auto topology) { return laws::reducing(world, topology, laws::composition{}, 1023); });
    });
  }
}

BOOST_AUTO_TEST_CASE(elements_are_moved) {
  for (auto const n : laws::world_sizes) {
    support::agree_in_virtual_time(n, [](auto& world) {
      return laws::topologies_with_aggregators::first_complaint(
          [&](auto topology) { return laws::moving<laws::triple>(world, topology, 1023); });
    });
  }
}

BOOST_AUTO_TEST_CASE(many_operations_at_once_do_not_mix) {
  for (auto const n : laws::world_sizes) {
    support::agree_in_virtual_time(n, [](auto& world) { return laws::many_in_flight(world, 60); });
  }
}

BOOST_AUTO_TEST_CASE(narrow_windows_and_losses_change_nothing) {
  tutti::simulation_options options;
  options.window = 1;
  options.faults.loss = 0.2;
  for (tutti::rank_type const n : {2U, 5U, 8U}) {
    support::agree_in_virtual_time(
        n, [](auto& world) { return laws::many_in_flight(world, 60); }, options);
  }
}

BOOST_AUTO_TEST_CASE(vectors_may_be_large) {
  for (tutti::rank_type const n : {2U, 3U, 4U}) {
    support::agree_in_virtual_time(n, [](auto& world) { return laws::large(world, 400'003); });
  }
}

BOOST_AUTO_TEST_CASE(parts_of_a_world_are_worlds) {
  for (tutti::rank_type const n : {1U, 2U, 5U, 8U}) {
    support::agree_in_virtual_time(n, [](auto& world) { return laws::splits(world); });
  }
}
