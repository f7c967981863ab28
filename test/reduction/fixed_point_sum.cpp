// SPDX-License-Identifier: Apache-2.0
// test: address
#include <laws/reduction.hpp>
#include <reduction/instructions.hpp>
#include <tutti/reduction/fixed_point_sum.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using tutti::fixed_point_sum;
using tutti::rank_type;
using limits = std::numeric_limits<float>;

/// Zeros, numbers near the largest contribution, small numbers, infinities and NaN.
std::vector<float> samples(fixed_point_sum const& r) {
  float const largest = r.largest();
  std::vector<float> numbers{0.0F,
                             -0.0F,
                             largest,
                             -largest,
                             largest * 1.0001F,
                             -largest * 1.0001F,
                             largest / 3,
                             limits::max(),
                             limits::lowest(),
                             limits::infinity(),
                             -limits::infinity(),
                             limits::quiet_NaN(),
                             limits::denorm_min()};
  for (float const x : {0.49F, 0.5F, 0.51F, 1.0F, -1.5F, 2.5F, -777.25F}) {
    numbers.push_back(x / r.factor());
  }
  return numbers;
}

/// True if the result of one contribution is that number with a small error, or NaN for an overflow.
struct restores {
  fixed_point_sum r;
  bool operator()(float result, float x) const {
    if (!(std::abs(x) <= r.largest())) {
      return std::isnan(result);
    }
    return std::abs(double{result} - double{x}) <= 0.5 / double{r.factor()} + std::abs(double{x}) * 0x1p-24;
  }
};

template <class F>
void with_factors(F f) {
  for (float const factor : {0x1p-97F, 0.001F, 1.0F, 1e6F, 0x1p30F, 3e12F}) {
    for (rank_type const ranks : {1U, 3U, 8U, 255U}) {
      f(fixed_point_sum{factor, ranks});
    }
  }
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

/// Combines all contributions in a random tree.
std::int32_t combine_in_tree(fixed_point_sum const& r, std::vector<float> const& numbers, std::mt19937& random) {
  std::vector<std::int32_t> accumulators;
  for (float const x : numbers) {
    accumulators.push_back(r.lift(x));
  }
  while (accumulators.size() > 1) {
    std::swap(accumulators[random() % accumulators.size()], accumulators.back());
    std::int32_t const accumulator = accumulators.back();
    accumulators.pop_back();
    std::int32_t& other = accumulators[random() % accumulators.size()];
    other = random() % 2 == 0 ? r.combine(accumulator, other) : r.combine(other, accumulator);
  }
  return accumulators[0];
}

/// Random contributions without overflow, a quarter of them the largest possible.
std::vector<float> contributions(fixed_point_sum const& r, rank_type ranks, std::mt19937& random) {
  std::vector<float> numbers;
  for (rank_type i = 0; i != ranks; ++i) {
    float const share = static_cast<float>(random() % 2'000'001) / 1e6F - 1;
    numbers.push_back(random() % 4 == 0 ? std::copysign(r.largest(), share) : share * r.largest());
  }
  return numbers;
}

}  // namespace

// The laws combine three numbers.
BOOST_AUTO_TEST_CASE(the_algebra) {
  with_factors([](fixed_point_sum const& r) {
    if (r.most_contributions() >= 3) {
      BOOST_TEST(laws::algebra(r, std::span<float const>(samples(r)), laws::same_bits{}, restores{r}) == "",
                 "factor " << r.factor() << ", " << r.most_contributions() << " ranks");
    }
  });
}

BOOST_AUTO_TEST_CASE(the_kernels) {
  fixed_point_sum const r{1000, 4};
  auto const numbers = samples(r);
  for (auto const set : instructions::available()) {
    instructions::limited_to const limit(set);
    BOOST_TEST(laws::kernels(r, std::span<float const>(numbers)) == "");
    for (std::size_t n = 0; n != 70; ++n) {
      std::vector<float> input(n);
      std::vector<std::int32_t> output(n);
      for (std::size_t i = 0; i != n; ++i) {
        input[i] = numbers[i % numbers.size()];
      }
      tutti::detail::lift(r, reinterpret_cast<std::byte const*>(input.data()),
                          reinterpret_cast<std::byte*>(output.data()), n);
      for (std::size_t i = 0; i != n; ++i) {
        BOOST_REQUIRE(output[i] == r.lift(input[i]));
      }
    }
  }
}

/// The promise |result - exact| <= ranks / 2 / factor, plus half of the last bit of the result.
BOOST_AUTO_TEST_CASE(a_sum_is_wrong_by_no_more_than_is_said) {
  std::mt19937 random(3);
  with_factors([&](fixed_point_sum const& r) {
    for (int round = 0; round != 500; ++round) {
      auto const numbers = contributions(r, r.most_contributions(), random);
      double exact = 0;
      for (float const x : numbers) {
        exact += double{x};
      }
      float const result = r.lower(combine_in_tree(r, numbers, random), r.most_contributions());
      double const bound = r.most_contributions() * 0.5 / double{r.factor()};
      BOOST_REQUIRE(!std::isnan(result));  // all ranks may contribute the largest number
      BOOST_REQUIRE_LE(std::abs(double{result} - exact), bound + std::abs(double{result}) * 0x1.000001p-24);
    }
  });
}

/// The sum of any contributions with one overflow or several is NaN with one bit pattern, in any order.
BOOST_AUTO_TEST_CASE(an_overflow_is_recognised_in_every_order) {
  std::mt19937 random(4);
  with_factors([&](fixed_point_sum const& r) {
    float const overflows[] = {r.largest() * 1.001F, -r.largest() * 1.001F, limits::infinity(),
                               -limits::infinity(),  limits::max(),         limits::quiet_NaN()};
    for (int round = 0; round != 500; ++round) {
      auto numbers = contributions(r, r.most_contributions(), random);
      for (std::size_t k = random() % numbers.size() + 1; k != 0; --k) {
        numbers[random() % numbers.size()] = overflows[random() % std::size(overflows)];
      }
      for (int order = 0; order != 8; ++order) {
        float const result = r.lower(combine_in_tree(r, numbers, random), r.most_contributions());
        BOOST_REQUIRE(same_bits(result, limits::quiet_NaN()));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(every_order_and_grouping_gives_the_same_bits) {
  std::mt19937 random(5);
  with_factors([&](fixed_point_sum const& r) {
    for (int round = 0; round != 100; ++round) {
      auto const numbers = contributions(r, r.most_contributions(), random);
      std::int32_t const first = combine_in_tree(r, numbers, random);
      for (int order = 0; order != 8; ++order) {
        BOOST_REQUIRE_EQUAL(combine_in_tree(r, numbers, random), first);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(factors_that_mean_nothing_are_refused) {
  for (float const factor : {0.0F, -1.0F, 0x1p-98F, limits::infinity(), limits::quiet_NaN()}) {
    BOOST_CHECK_THROW((fixed_point_sum{factor, 2}), tutti::precondition_error);
  }
  BOOST_CHECK_THROW((fixed_point_sum{1, 0}), tutti::precondition_error);
  BOOST_CHECK_THROW((fixed_point_sum{1, (1U << 30) + 1}), tutti::precondition_error);
}
