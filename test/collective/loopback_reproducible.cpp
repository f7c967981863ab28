// SPDX-License-Identifier: Apache-2.0
// test: address (the engine is the same for other reductions)
#include <laws/all_topologies.hpp>
#include <support/worlds.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/reduce_scatter.hpp>
#include <tutti/reduction/reproducible_sum.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

using tutti::binned_sum;
using tutti::rank_type;

constexpr std::size_t numbers = 301;
constexpr rank_type contributors = 24;
using vector = std::vector<float>;

/// The numbers of contributor c: of all magnitudes, and some cancel those of others.
vector contribution(rank_type c) {
  std::mt19937 random(c / 3);
  vector values(numbers);
  for (float& x : values) {
    float const size = std::ldexp(static_cast<float>(random()), static_cast<int>(random() % 90) - 60);
    x = c % 3 == 1 ? -size : c % 3 == 2 ? size * 0x1p-30F : size;
  }
  return values;
}

vector sum_of_the_first(rank_type count) {
  std::vector<binned_sum> sums(numbers);
  for (rank_type c = 0; c != count; ++c) {
    auto const values = contribution(c);
    for (std::size_t i = 0; i != numbers; ++i) {
      sums[i] = tutti::combine(sums[i], tutti::detail::to_bins(values[i]));
    }
  }
  vector result;
  for (binned_sum const& sum : sums) {
    result.push_back(tutti::detail::to_float(sum));
  }
  return result;
}

bool are_equal(vector const& a, vector const& b) {
  return std::memcmp(a.data(), b.data(), numbers * sizeof(float)) == 0;
}

/// Equal bits over all topologies and segment sizes, in each world.
BOOST_AUTO_TEST_CASE(no_schedule_can_be_seen_in_a_sum) {
  for (rank_type const n : {1U, 2U, 3U, 4U, 5U, 8U}) {
    vector const expected = sum_of_the_first(n);
    support::agree<tutti::loopback>(n, [&](auto& world) {
      return laws::all_topologies::first_complaint([&](auto topology) -> std::string {
        tutti::allreduce sum{world, topology, tutti::reproducible_sum<float>{}};
        for (std::size_t const segment : {0U, 200U}) {
          sum.segment(segment);
          vector v = contribution(world.rank());
          sum(v);
          if (!are_equal(v, expected)) {
            return std::string(topology.name) + ", segments of " + std::to_string(segment);
          }
        }
        return {};
      });
    });
  }
}

/// Accumulators are larger than elements, so there may be no room for those of a vector that exists.
BOOST_AUTO_TEST_CASE(accumulators_that_no_memory_holds_are_refused) {
  auto const results = tutti::spawn<tutti::loopback>(3, [](auto& world) {
    float number = 0;
    std::span<float> const long_vector(&number, SIZE_MAX / sizeof(binned_sum) + 2);  // 16 bytes, if the product wraps
    tutti::allreduce{world, tutti::ring{}, tutti::reproducible_sum<float>{}}(long_vector);
  });
  bool is_refused = false;  // by the first rank; the others may get its failure
  for (auto const& result : results) {
    BOOST_REQUIRE(!result);
    is_refused =
        is_refused || result.failure().text.find("needs an accumulator of 16 bytes for each of ") != std::string::npos;
  }
  BOOST_TEST(is_refused);
}

/// Equal bits for the same contributions on any number of ranks: accumulators travel first, then sums.
BOOST_AUTO_TEST_CASE(no_number_of_ranks_can_be_seen_in_a_sum) {
  vector const expected = sum_of_the_first(contributors);
  for (rank_type const n : {1U, 2U, 3U, 4U, 8U, 17U}) {
    support::agree<tutti::loopback>(n, [&](auto& world) {
      std::vector<binned_sum> sums(numbers);
      auto const first = static_cast<rank_type>(tutti::block_begin(contributors, n, world.rank()));
      auto const count = static_cast<rank_type>(tutti::block_size(contributors, n, world.rank()));
      for (rank_type c = first; c != first + count; ++c) {
        tutti::detail::deposit(contribution(c), sums);
      }
      auto const original_sums = sums;
      return laws::all_topologies::first_complaint([&](auto topology) -> std::string {
        tutti::allreduce sum_bins{world, topology, tutti::reproducible_sum<binned_sum, float>{}};
        for (std::size_t const segment : {0U, 200U}) {
          sum_bins.segment(segment);
          vector result(numbers);
          sum_bins(sums, result);
          if (!are_equal(result, expected) || sums != original_sums) {
            return std::string(topology.name) + ", segments of " + std::to_string(segment);
          }
        }
        return {};
      });
    });
  }
}

/// Ranks may also end with accumulators, to be added to others.
BOOST_AUTO_TEST_CASE(sums_of_groups_can_be_added) {
  vector const expected = sum_of_the_first(8);
  support::agree<tutti::loopback>(4, [&](auto& world) -> std::string {
    tutti::reduce_scatter share{world, tutti::ring{}, tutti::reproducible_sum<float, binned_sum>{}};
    std::size_t const first = tutti::block_begin(numbers, 4, world.rank());
    std::vector<binned_sum> first_sums(tutti::block_size(numbers, 4, world.rank()));
    std::vector<binned_sum> second_sums(first_sums.size());
    share(contribution(world.rank()), first_sums);
    share(contribution(world.rank() + 4), second_sums);
    for (std::size_t i = 0; i != first_sums.size(); ++i) {
      if (tutti::detail::to_float(tutti::combine(first_sums[i], second_sums[i])) != expected[first + i]) {
        return "other bits";
      }
    }
    return {};
  });
}

/// Contributions and accumulators differ in size; the sum may be made in the memory of a rank that lent its block.
BOOST_AUTO_TEST_CASE(accumulators_are_made_of_long_vectors) {
  constexpr std::size_t length = 3000;
  constexpr rank_type n = 3;
  auto const draw = [](rank_type c) {
    std::mt19937 random(c);
    vector values(length);
    for (float& x : values) {
      x = std::ldexp(static_cast<float>(random() % 4096), -static_cast<int>(random() % 40));
    }
    return values;
  };
  support::agree<tutti::loopback>(n, [&](auto& world) {
    return laws::all_topologies::first_complaint([&](auto topology) -> std::string {
      tutti::allreduce sum{world, topology, tutti::reproducible_sum<float, binned_sum>{}};
      std::vector<binned_sum> result(length);
      sum(draw(world.rank()), result);
      std::vector<binned_sum> expected(length);
      for (rank_type c = 0; c != n; ++c) {
        tutti::detail::deposit(draw(c), expected);
      }
      for (std::size_t i = 0; i != length; ++i) {
        if (tutti::detail::to_float(result[i]) != tutti::detail::to_float(expected[i])) {
          return std::string(topology.name) + ", element " + std::to_string(i);
        }
      }
      return {};
    });
  });
}

/// A reduction whose accumulators hold three contributions.
struct sum_of_three : tutti::reproducible_sum<float> {
  static constexpr std::uint32_t most_contributions = 3;
};

BOOST_AUTO_TEST_CASE(more_ranks_than_an_accumulator_holds_are_refused) {
  static_assert(most_contributions(tutti::reproducible_sum<float>{}) == binned_sum::limit);
  static_assert(most_contributions(tutti::reproducible_sum<binned_sum, float>{}) == binned_sum::limit);
  for (rank_type const n : {3U, 4U}) {
    support::agree<tutti::loopback>(n, [&](auto& world) -> std::string {
      try {
        tutti::allreduce sum{world, tutti::ring{}, sum_of_three{}};
        return n == 3 ? "" : "accepted";
      } catch (tutti::precondition_error const& e) {
        std::string const text = e.what();
        bool const says = text.find("at most 3") != std::string::npos && text.find("4 ranks") != std::string::npos;
        return n == 4 && says ? "" : text;
      }
    });
  }
}

}  // namespace
