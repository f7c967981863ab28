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
  vector values(numbers);
  for (std::size_t i = 0; i != numbers; ++i) {
    values[i] = std::sin(static_cast<float>(i * (rank + 1)));
    if (i % 7 == 3 && i % ranks == rank) {
      values[i] *= 1e9F;
    }
  }
  return values;
}

vector expected(rank_type ranks) {
  fixed_point_sum const r{factor, ranks};
  std::vector<std::int32_t> sums(numbers);
  for (rank_type rank = 0; rank != ranks; ++rank) {
    auto const values = contribution(rank, ranks);
    for (std::size_t i = 0; i != numbers; ++i) {
      sums[i] = r.combine(sums[i], r.lift(values[i]));
    }
  }
  vector results;
  for (std::int32_t const sum : sums) {
    results.push_back(r.lower(sum, ranks));
  }
  return results;
}

bool are_equal(vector const& a, vector const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Equal bits over all topologies and segment sizes, in each world; in_network runs without its aggregator.
BOOST_AUTO_TEST_CASE(no_schedule_can_be_seen_in_a_sum) {
  for (rank_type const n : {1U, 2U, 3U, 4U, 5U, 8U}) {
    vector const expected_sums = expected(n);
    BOOST_TEST(std::isnan(expected_sums[3]));
    BOOST_TEST(!std::isnan(expected_sums[4]));
    support::agree<tutti::loopback>(n, [&](auto& world) {
      return laws::topologies_with_aggregators::first_complaint([&](auto topology) -> std::string {
        tutti::allreduce sum{world, topology, fixed_point_sum{factor, n}};
        tutti::allreduce roomy{world, topology, fixed_point_sum{factor, 8 * n}};  // room for more ranks than there are
        for (std::size_t const segment : {0U, 200U}) {
          sum.segment(segment);
          vector const input = contribution(world.rank(), n);
          vector in_place = input;
          sum(in_place);
          vector output(numbers);
          sum(input, output);
          if (!are_equal(in_place, expected_sums) || !are_equal(output, expected_sums)) {
            return std::string(topology.name) + ", segments of " + std::to_string(segment);
          }
        }
        vector units(numbers, 1.0F);
        roomy(units);
        return units == vector(numbers, static_cast<float>(n)) ? "" : "a roomy sum";
      });
    });
  }
}

BOOST_AUTO_TEST_CASE(more_ranks_than_a_sum_has_room_for_are_refused) {
  support::agree<tutti::loopback>(3, [](auto& world) -> std::string {
    try {
      tutti::allreduce sum{world, tutti::ring{}, fixed_point_sum{factor, 2}};
      return "accepted";
    } catch (tutti::precondition_error const& e) {
      std::string const text = e.what();
      return text.find("at most 2") != std::string::npos && text.find("3 ranks") != std::string::npos ? "" : text;
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
  for (auto const& result : ends) {
    BOOST_TEST_REQUIRE(!result.has_value());
    BOOST_TEST((result.failure().kind == tutti::failure::mismatch));
  }
}

}  // namespace
