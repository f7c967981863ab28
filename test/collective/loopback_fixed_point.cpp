// SPDX-License-Identifier: Apache-2.0
// test: address (the engine is the same for other reductions)
#include <laws/all_topologies.hpp>
#include <support/worlds.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/reduction/fixed_point_sum.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace {

using tutti::fixed_point_sum;
using tutti::rank_type;
using vector = std::vector<float>;

constexpr std::size_t numbers = 301;
constexpr float factor = 1000;

/// Every seventh number overflows on one rank.
vector contribution(rank_type rank, rank_type ranks) {
  vector all(numbers);
  for (std::size_t i = 0; i != numbers; ++i) {
    all[i] = std::sin(static_cast<float>(i * (rank + 1)));
    if (i % 7 == 3 && i % ranks == rank) {
      all[i] *= 1e9F;
    }
  }
  return all;
}

vector expected(rank_type ranks) {
  fixed_point_sum const r{factor, ranks};
  std::vector<std::int32_t> sums(numbers);
  for (rank_type rank = 0; rank != ranks; ++rank) {
    auto const all = contribution(rank, ranks);
    for (std::size_t i = 0; i != numbers; ++i) {
      sums[i] = r.combine(sums[i], r.lift(all[i]));
    }
  }
  vector results;
  for (std::int32_t const one : sums) {
    results.push_back(r.lower(one, ranks));
  }
  return results;
}

bool same(vector const& a, vector const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Equal bits over all topologies and segment sizes, in each world; in_network runs without its aggregator.
BOOST_AUTO_TEST_CASE(no_schedule_can_be_seen_in_a_sum) {
  for (rank_type const n : {1U, 2U, 3U, 4U, 5U, 8U}) {
    vector const all = expected(n);
    BOOST_TEST(std::isnan(all[3]));
    BOOST_TEST(!std::isnan(all[4]));
    support::agree<tutti::loopback>(n, [&](auto& world) {
      return laws::topologies_with_aggregators::first_complaint([&](auto topology) -> std::string {
        tutti::allreduce sum{world, topology, fixed_point_sum{factor, n}};
        tutti::allreduce roomy{world, topology, fixed_point_sum{factor, 8 * n}};  // room for more ranks than there are
        for (std::size_t const segment : {0U, 200U}) {
          sum.segment(segment);
          vector const given = contribution(world.rank(), n);
          vector mine = given;
          sum(mine);
          vector apart(numbers);
          sum(given, apart);
          if (!same(mine, all) || !same(apart, all)) {
            return std::string(topology.name) + ", segments of " + std::to_string(segment);
          }
        }
        vector ones(numbers, 1.0F);
        roomy(ones);
        return ones == vector(numbers, static_cast<float>(n)) ? "" : "a roomy sum";
      });
    });
  }
}

BOOST_AUTO_TEST_CASE(more_ranks_than_a_sum_has_room_for_are_refused) {
  support::agree<tutti::loopback>(3, [](auto& world) -> std::string {
    try {
      tutti::allreduce sum{world, tutti::ring{}, fixed_point_sum{factor, 2}};
      return "accepted";
    } catch (tutti::precondition_error const& refused) {
      std::string const what = refused.what();
      return what.find("at most 2") != std::string::npos && what.find("3 ranks") != std::string::npos ? "" : what;
    }
  });
}

/// A sum of numbers scaled by two factors would mean nothing.
BOOST_AUTO_TEST_CASE(ranks_with_other_factors_find_out) {
  auto const ends = tutti::spawn<tutti::loopback>(3, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, fixed_point_sum{world.rank() == 1 ? 10.0F : 1000.0F, 3}};
    vector v(numbers, 1);
    sum(v);
    return 0;
  });
  for (auto const& one : ends) {
    BOOST_TEST_REQUIRE(!one.has_value());
    BOOST_TEST((one.failure().kind == tutti::failure::mismatch));
  }
}

}  // namespace
