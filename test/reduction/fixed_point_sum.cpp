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

/// Zeros, numbers of all sizes about the edges of what a factor has room for, and what is no number.
std::vector<float> samples(fixed_point_sum const& r) {
  float const most = r.largest();
  std::vector<float> all{0.0F,
                         -0.0F,
                         most,
                         -most,
                         most * 1.0001F,
                         -most * 1.0001F,
                         most / 3,
                         limits::max(),
                         limits::lowest(),
                         limits::infinity(),
                         -limits::infinity(),
                         limits::quiet_NaN(),
                         limits::denorm_min()};
  for (float const x : {0.49F, 0.5F, 0.51F, 1.0F, -1.5F, 2.5F, -777.25F}) {
    all.push_back(x / r.factor());
  }
  return all;
}

/// A single number comes back but for its last bit, or is an overflow.
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

/// Combined in a random tree.
std::int32_t in_a_tree(fixed_point_sum const& r, std::vector<float> const& all, std::mt19937& random) {
  std::vector<std::int32_t> left;
  for (float const x : all) {
    left.push_back(r.lift(x));
  }
  while (left.size() > 1) {
    std::swap(left[random() % left.size()], left.back());
    std::int32_t const one = left.back();
    left.pop_back();
    std::int32_t& other = left[random() % left.size()];
    other = random() % 2 == 0 ? r.combine(one, other) : r.combine(other, one);
  }
  return left[0];
}

/// What the ranks give: most of it fits, some of it at the very edge.
std::vector<float> contributions(fixed_point_sum const& r, rank_type ranks, std::mt19937& random) {
  std::vector<float> all;
  for (rank_type i = 0; i != ranks; ++i) {
    float const share = static_cast<float>(random() % 2'000'001) / 1e6F - 1;
    all.push_back(random() % 4 == 0 ? std::copysign(r.largest(), share) : share * r.largest());
  }
  return all;
}

}  // namespace

// Three numbers are combined at a time.
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
  auto const all = samples(r);
  for (auto const set : instructions::available()) {
    instructions::limited_to const limit(set);
    BOOST_TEST(laws::kernels(r, std::span<float const>(all)) == "");
    for (std::size_t n = 0; n != 70; ++n) {
      std::vector<float> from(n);
      std::vector<std::int32_t> to(n);
      for (std::size_t i = 0; i != n; ++i) {
        from[i] = all[i % all.size()];
      }
      tutti::detail::lift(r, reinterpret_cast<std::byte const*>(from.data()), reinterpret_cast<std::byte*>(to.data()),
                          n);
      for (std::size_t i = 0; i != n; ++i) {
        BOOST_REQUIRE(to[i] == r.lift(from[i]));
      }
    }
  }
}

/// |result - exact| <= ranks / 2 / factor, and half of the result's last bit.
BOOST_AUTO_TEST_CASE(a_sum_is_wrong_by_no_more_than_is_said) {
  std::mt19937 random(3);
  with_factors([&](fixed_point_sum const& r) {
    for (int round = 0; round != 500; ++round) {
      auto const all = contributions(r, r.most_contributions(), random);
      double exact = 0;
      for (float const x : all) {
        exact += double{x};
      }
      float const result = r.lower(in_a_tree(r, all, random), r.most_contributions());
      double const allowed = r.most_contributions() * 0.5 / double{r.factor()};
      BOOST_REQUIRE(!std::isnan(result));  // what each may give all may give together
      BOOST_REQUIRE_LE(std::abs(double{result} - exact), allowed + std::abs(double{result}) * 0x1.000001p-24);
    }
  });
}

/// One overflow among any others, or several, in any order: NaN with one pattern of bits. None: no NaN.
BOOST_AUTO_TEST_CASE(an_overflow_is_recognised_in_every_order) {
  std::mt19937 random(4);
  with_factors([&](fixed_point_sum const& r) {
    float const beyond[] = {r.largest() * 1.001F, -r.largest() * 1.001F, limits::infinity(),
                            -limits::infinity(),  limits::max(),         limits::quiet_NaN()};
    for (int round = 0; round != 500; ++round) {
      auto all = contributions(r, r.most_contributions(), random);
      for (std::size_t k = random() % all.size() + 1; k != 0; --k) {
        all[random() % all.size()] = beyond[random() % std::size(beyond)];
      }
      for (int order = 0; order != 8; ++order) {
        float const result = r.lower(in_a_tree(r, all, random), r.most_contributions());
        BOOST_REQUIRE(same_bits(result, limits::quiet_NaN()));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(every_order_and_grouping_gives_the_same_bits) {
  std::mt19937 random(5);
  with_factors([&](fixed_point_sum const& r) {
    for (int round = 0; round != 100; ++round) {
      auto const all = contributions(r, r.most_contributions(), random);
      std::int32_t const first = in_a_tree(r, all, random);
      for (int order = 0; order != 8; ++order) {
        BOOST_REQUIRE_EQUAL(in_a_tree(r, all, random), first);
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
