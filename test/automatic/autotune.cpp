// SPDX-License-Identifier: Apache-2.0
// test: thread
#include <support/simulated_worlds.hpp>
#include <tutti/automatic.hpp>
#include <tutti/simulation/simulate_schedule.hpp>
#include <tutti/spawn.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>
#include <vector>

// Trying finds what is fastest, whatever the profile says.

using namespace tutti;
using namespace tutti::detail;

namespace {

/// A profile of some other world.
template <class World>
network_profile wrong(World& world) {
  network_profile p{.ranks = world.size(), .hosts = world.hosts().hosts(), .start = 50'000};
  p.within_host = {1'000'000,
                   {{4, 100'000, 100'000, 0, 100'000, 0, 0}, {1024, 400'000, 200'000, 0, 400'000, 9'000, 5'000}}};
  p.helper = {2'000'000, {{.bytes = 4, .wire = 1'000'000}}};
  return p;
}

constexpr automatic::autotune_options of_all{.ways = 100, .within = 1e9, .turns = 1};

/// What the simulator says of the way that is picked after autotune, and of the best one.
template <class Op>
void finds_the_best(simulated_network const& net, rank_type n, std::size_t bytes, Op op) {
  auto const all = simulate(net, n, [&](auto& world) {
    automatic const best(world, wrong(world));
    std::vector<float> scratch(bytes / sizeof(float));
    best.autotune(world, op, scratch, of_all);
    std::vector<std::pair<choice<selection>, bool>> ways;  // and whether that is the pick
    auto const pick = best.choose(op, bytes, {.helped = true});
    for (prediction const& p : best.predict(op, bytes, {.helped = true})) {
      ways.emplace_back(p.way,
                        p.way.topology.kind() == pick.topology.kind() && p.way.segment_bytes == pick.segment_bytes);
    }
    return ways;
  });
  double least = INFINITY;
  double picked = INFINITY;
  for (auto const& [way, is_pick] : all.results.front().value()) {
    auto const time = static_cast<double>(
        simulate_schedule(net, way.topology, op, n, {bytes / 4, 4, way.segment_bytes}).time().count());
    least = std::min(least, time);
    picked = is_pick ? time : picked;
  }
  BOOST_TEST(picked <= 1.1 * least, name(verify::kind_of<Op>) << ", n " << n << ", " << bytes << " bytes: " << picked
                                                              << ", and the best takes " << least);
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

BOOST_AUTO_TEST_CASE(all_ranks_find_the_same_and_keep_it_for_such_sizes) {
  for (rank_type const n : {1U, 2U, 3U}) {
    auto const results = spawn<loopback>(n, [](auto& world) -> std::string {
      automatic const best(world, wrong(world));
      std::vector<float> v(3000);
      std::string const found =
          best.autotune(world, op::allreduce{}, v, {.ways = 3, .turn = std::chrono::microseconds(20)});
      best.autotune(world, op::broadcast{0}, v, {.ways = 2, .turns = 1});
      allreduce sum_of{world, best, sum<float>{}};
      std::fill(v.begin(), v.end(), 1.F);
      sum_of(v);
      if (v.front() != static_cast<float>(world.size()) || v.back() != v.front()) {
        return "the sum is wrong";
      }
      if (!found.starts_with("allreduce:8193-16384=")) {
        return found;
      }
      automatic const told(world, wrong(world));
      told.prefer(found);
      for (std::size_t const bytes : {8193U, 12000U, 16384U}) {
        auto const a = best.choose(op::allreduce{}, bytes);
        auto const b = told.choose(op::allreduce{}, bytes);
        if (a.topology.kind() != b.topology.kind() || a.segment_bytes != b.segment_bytes) {
          return "what was found is not what is said";
        }
      }
      if (sum_of.explain(8192).find("tried") != std::string::npos) {
        return "the result of autotune is taken for other sizes, too";
      }
      return found + sum_of.explain(16384);
    });
    for (auto const& r : results) {
      BOOST_TEST(r.value() == results.front().value());
      BOOST_TEST(r.value().find("3 that were tried, it was the fastest") != std::string::npos, r.value());
    }
  }
}

BOOST_AUTO_TEST_CASE(ranks_that_autotune_for_different_lengths_are_told_so) {
  for (auto const& r : spawn<loopback>(2, [](auto& world) {
         automatic const best(world, wrong(world));
         std::vector<float> v(100 + world.rank());
         best.autotune(world, op::allreduce{}, v);
       })) {
    BOOST_TEST(!r.has_value());
    BOOST_TEST((r.failure().kind == failure::mismatch));
  }
}

BOOST_AUTO_TEST_CASE(autotune_without_candidates_is_refused) {
  for (auto const& r : spawn<loopback>(1, [](auto& world) -> std::string {
         try {
           std::vector<float> v(1);
           automatic(world, wrong(world)).autotune(world, op::allreduce{}, v, {.ways = 0});
           return "";
         } catch (precondition_error const& e) {
           return e.what();
         }
       })) {
    BOOST_TEST(r.value().find("must be 1 or more, not 0 and ") != std::string::npos);
  }
}
