// SPDX-License-Identifier: Apache-2.0
// test: plain (one thread)
#include <support/wrong_profile.hpp>
#include <tutti/automatic.hpp>
#include <tutti/simulation/simulate.hpp>
#include <tutti/simulation/simulate_schedule.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

// In virtual time it is known which schedule is the fastest: autotune finds it, whatever the profile says.

using namespace tutti;
using namespace tutti::detail;

namespace {

constexpr automatic::autotune_options of_all{.ways = 100, .maximum_ratio = 1e9, .turns = 1};

/// Checks that the schedule picked after autotune is, in the simulator, about as fast as the best one.
template <class Op>
void finds_the_best(simulated_network const& net, rank_type n, std::size_t bytes, Op op) {
  auto const outcome = simulate(net, n, [&](auto& world) {
    automatic const best(world, support::wrong_profile(world));
    std::vector<float> scratch(bytes / sizeof(float));
    best.autotune(world, op, scratch, of_all);
    std::vector<std::pair<schedule_choice<selection>, bool>> ways;  // each schedule, and true if it is the pick
    auto const pick = best.choose(op, bytes, {.may_aggregate = true});
    for (prediction const& p : best.predict(op, bytes, {.may_aggregate = true})) {
      ways.emplace_back(p.way,
                        p.way.topology.kind() == pick.topology.kind() && p.way.segment_bytes == pick.segment_bytes);
    }
    return ways;
  });
  double least = INFINITY;
  double picked_time = INFINITY;
  for (auto const& [way, is_pick] : outcome.results.front().value()) {
    auto const time = static_cast<double>(
        simulate_schedule(net, way.topology, op, n, {bytes / 4, 4, way.segment_bytes}).time().count());
    least = std::min(least, time);
    picked_time = is_pick ? time : picked_time;
  }
  BOOST_TEST(picked_time <= 1.1 * least, name(verify::kind_of<Op>) << ", n " << n << ", " << bytes << " bytes: "
                                                                   << picked_time << ", and the best takes " << least);
}

}  // namespace

BOOST_AUTO_TEST_CASE(autotune_finds_what_is_fastest) {
  constexpr loggp nic{std::chrono::microseconds(50), std::chrono::microseconds(2), {}, at_gigabits(1)};
  for (rank_type const n : {2U, 3U, 5U, 8U}) {
    auto net = one_switch(n, nic);
    net.combine = picoseconds(50);
    for (std::size_t const bytes : {4U, 4096U, 256U << 10}) {
      finds_the_best(net, n, bytes, op::allreduce{});
      finds_the_best(net, n, bytes, op::broadcast{n - 1});
    }
  }
}
