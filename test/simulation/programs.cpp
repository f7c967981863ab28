// SPDX-License-Identifier: Apache-2.0
// test: address optimised (one thread)
#include <laws/crossed.hpp>
#include <laws/numbering.hpp>
#include <simulation/worlds.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/ring.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

// Programs that mix what the core offers, in virtual time.

namespace {

using namespace std::chrono_literals;

constexpr std::size_t large = 4'000'000;  // more than any transport takes in

/// One rank comes after ten minutes of virtual time.
auto wait_for_minutes(tutti::duration deadline) {
  return tutti::simulate(tutti::one_switch(2, {.latency = 1us}), 2, [=](auto& world) {
    world.deadline(deadline);
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::vector<int> v(10, 1);
    if (world.rank() == 1) {
      world.transport().spend(10min);
    }
    auto pending = sum.start(v);
    pending.wait();
    sum(v);
    return v.back();
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_deadline_a_rank_is_waited_for_as_long_as_it_takes) {
  for (auto const& end : wait_for_minutes(tutti::no_deadline).results) {
    BOOST_TEST((end && end.value() == 4), end.failure().text);
  }
  for (auto const& end : wait_for_minutes(9min).results) {
    BOOST_TEST((end.failure().kind == tutti::failure::deadline), end.failure().text);
  }
}

BOOST_AUTO_TEST_CASE(simulated_ranks_number_their_operations_alike) {
  laws::check_numbering(20, [](tutti::rank_type n, auto const& program) {
    return tutti::simulate(tutti::one_switch(n, {.latency = std::chrono::microseconds(1)}), n, program).results;
  });
}

// Ranks are fibers of one thread: each serves what it has started itself.
BOOST_AUTO_TEST_CASE(a_wait_in_virtual_time_serves_what_its_own_rank_started) {
  support::agree_in_virtual_time(2, [](auto& world) { return laws::crossed_pair(world, large); });
  support::agree_in_virtual_time(5, [](auto& world) { return laws::crossed_pair(world, 10'000); });
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    support::agree_in_virtual_time(3, [seed](auto& world) { return laws::crossed_at_random(world, seed); });
  }
}
