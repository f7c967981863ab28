// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/all_topologies.hpp>
#include <laws/moving_operators.hpp>
#include <laws/reducing_operators.hpp>
#include <support/cases.hpp>
#include <support/worlds.hpp>

/// The test cases of the operators over one transport: all topologies, in worlds of every size. One for each
/// program, for they are dear to compile.
namespace laws {

/// Runs check(world, topology) everywhere.
template <class Transport, class Check>
void over_all_topologies(Check check) {
  for (auto const n : world_sizes) {
    support::agree<Transport>(
        n, [&](auto& world) { return all_topologies::each([&](auto topology) { return check(world, topology); }); });
  }
}

template <class Transport>
void sums_equal_the_sequential_answer() {
  over_all_topologies<Transport>(
      [](auto& world, auto topology) { return reducing(world, topology, tutti::sum<float>{}, 4099); });
}
template <class Transport>
void accumulators_need_not_be_elements() {
  over_all_topologies<Transport>(
      [](auto& world, auto topology) { return reducing(world, topology, wide_mean{}, 1023); });
}
template <class Transport>
void operators_that_do_not_commute_keep_rank_order() {
  over_all_topologies<Transport>(
      [](auto& world, auto topology) { return reducing(world, topology, composition{}, 1023); });
}
template <class Transport>
void moved_elements_arrive_where_they_belong() {
  over_all_topologies<Transport>([](auto& world, auto topology) { return moving<triple>(world, topology, 1023); });
}

}  // namespace laws
