// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_loopback_reproducible
#include <laws/all_topologies.hpp>
#include <support/worlds.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/deposit.hpp>
#include <tutti/reduction/reproducible_sum.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

using tutti::binned;
using tutti::rank_type;

constexpr std::size_t numbers = 301;
constexpr rank_type contributors = 24;
using vector = std::vector<float>;

/// What contributor c has: numbers of all sizes, some of which cancel those of others.
vector contribution(rank_type c) {
  std::mt19937 random(c / 3);
  vector all(numbers);
  for (float& x : all) {
    float const size = std::ldexp(static_cast<float>(random()), static_cast<int>(random() % 90) - 60);
    x = c % 3 == 1 ? -size : c % 3 == 2 ? size * 0x1p-30F : size;
  }
  return all;
}

vector sum_of_the_first(rank_type count) {
  std::vector<binned> sums(numbers);
  for (rank_type c = 0; c != count; ++c) {
    auto const more = contribution(c);
    for (std::size_t i = 0; i != numbers; ++i) {
      sums[i] = tutti::combine(sums[i], tutti::detail::to_bins(more[i]));
    }
  }
  vector result;
  for (binned const& one : sums) {
    result.push_back(tutti::detail::to_float(one));
  }
  return result;
}

bool same(vector const& a, vector const& b) {
  return std::memcmp(a.data(), b.data(), numbers * sizeof(float)) == 0;
}

/// Of all topologies, in all worlds, whole and in segments.
BOOST_AUTO_TEST_CASE(no_schedule_can_be_seen_in_a_sum) {
  for (rank_type const n : {1U, 2U, 3U, 4U, 5U, 8U}) {
    vector const expected = sum_of_the_first(n);
    support::agree<tutti::loopback>(n, [&](auto& world) {
      return laws::all_topologies::each([&](auto topology) -> std::string {
        tutti::allreduce sum{world, topology, tutti::reproducible_sum<float>{}};
        for (std::size_t const segment : {0U, 200U}) {
          sum.segment(segment);
          vector mine = contribution(world.rank());
          sum(mine);
          if (!same(mine, expected)) {
            return std::string(topology.name) + ", segments of " + std::to_string(segment);
          }
        }
        return {};
      });
    });
  }
}

/// The same contributions on however many ranks: accumulators travel.
BOOST_AUTO_TEST_CASE(no_number_of_ranks_can_be_seen_in_a_sum) {
  vector const expected = sum_of_the_first(contributors);
  for (rank_type const n : {1U, 2U, 3U, 4U, 8U, 17U}) {
    support::agree<tutti::loopback>(n, [&](auto& world) -> std::string {
      std::vector<binned> sums(numbers);
      auto const first = static_cast<rank_type>(tutti::block_begin(contributors, n, world.rank()));
      auto const count = static_cast<rank_type>(tutti::block_size(contributors, n, world.rank()));
      for (rank_type c = first; c != first + count; ++c) {
        tutti::deposit(contribution(c), sums);
      }
      tutti::allreduce all{world, tutti::ring{}, tutti::reproducible_sum<binned>{}};
      all(sums);
      vector result(numbers);
      tutti::withdraw(sums, result);
      return same(result, expected) ? "" : "other bits";
    });
  }
}

}  // namespace
