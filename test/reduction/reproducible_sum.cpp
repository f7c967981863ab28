// SPDX-License-Identifier: Apache-2.0
// test: address
#include <laws/reduction.hpp>
#include <reduction/exact_sum.hpp>
#include <reduction/instructions.hpp>
#include <tutti/detail/reduction/binned_block.hpp>
#include <tutti/extend/binned.hpp>
#include <tutti/reduction/reproducible_sum.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using tutti::binned;
using tutti::reproducible_sum;
using both_formats = std::tuple<float, double>;

template <class T>
using limits = std::numeric_limits<T>;

/// Everything that an accumulator treats in a way of its own, and what lies between.
template <class T>
std::vector<T> samples() {
  std::vector<T> all{T(0),
                     -T(0),
                     T(1),
                     T(-0.75),
                     limits<T>::denorm_min(),
                     -3 * limits<T>::denorm_min(),
                     limits<T>::min(),
                     limits<T>::max(),
                     limits<T>::lowest(),
                     limits<T>::infinity(),
                     -limits<T>::infinity(),
                     limits<T>::quiet_NaN(),
                     T(1) + limits<T>::epsilon()};
  for (int e : {-110, -27, -26, -1, 26, 27, 28, 53, 54, 81, 120}) {
    all.push_back(std::ldexp(T(1.2345678901234567), e));
    all.push_back(-std::ldexp(2 - limits<T>::epsilon(), e));
  }
  return all;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_algebra, T, both_formats) {
  auto const all = samples<T>();
  BOOST_TEST(laws::algebra(reproducible_sum<T>{}, std::span<T const>(all)) == "");
}

/// By whatever instructions. Those of double differ from those of float in the scalar functions alone. Blocks of
/// numbers of one tier are added in a way of their own.
BOOST_AUTO_TEST_CASE(the_kernels) {
  auto const all = samples<float>();
  std::vector<float> of_one_tier;
  for (int i = 1; i != 40; ++i) {
    of_one_tier.push_back(std::ldexp(i % 3 == 0 ? 1.2345678F : -1.8765432F, -i % 20));
  }
  for (auto const set : instructions::available()) {
    instructions::limited_to const limit(set);
    BOOST_TEST(laws::kernels(reproducible_sum<float>{}, std::span<float const>(all)) == "");
    BOOST_TEST(laws::kernels(reproducible_sum<float>{}, std::span<float const>(of_one_tier)) == "");
  }
}

/// A user's reduction over accumulators: of two the one whose words are the greater.
struct greater {
  using value_type = binned;
  using accumulator_type = binned;
  static constexpr std::string_view name = "greater";
  static constexpr bool commutative = true;
  static constexpr bool associative = true;

  [[nodiscard]] static constexpr binned identity() noexcept { return {}; }
  [[nodiscard]] static constexpr binned lift(binned const& x) noexcept { return x; }
  [[nodiscard]] static constexpr binned combine(binned const& a, binned const& b) noexcept {
    return std::pair(a.high, a.low) < std::pair(b.high, b.low) ? b : a;
  }
  [[nodiscard]] static constexpr binned lower(binned const& a, tutti::rank_type) noexcept { return a; }
};

BOOST_AUTO_TEST_CASE(other_reductions_over_accumulators_keep_their_combine) {
  std::vector<binned> all;
  for (double const x : instructions::anything<double>(100, 3)) {
    all.push_back(tutti::detail::to_bins(x));
  }
  for (auto const set : instructions::available()) {
    instructions::limited_to const limit(set);
    BOOST_TEST(laws::kernels(greater{}, std::span<binned const>(all)) == "");
  }
}

BOOST_AUTO_TEST_CASE(accumulators_as_elements) {
  std::vector<binned> all;
  for (double const x : samples<double>()) {
    all.push_back(tutti::combine(tutti::detail::to_bins(x), tutti::detail::to_bins(0.1F)));
  }
  BOOST_TEST(laws::algebra(reproducible_sum<binned>{}, std::span<binned const>(all)) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_single_number_comes_back, T, both_formats) {
  reproducible_sum<T> const r;
  auto const all = instructions::anything<T>(200000, 7);
  auto const wrong = std::ranges::count_if(
      all, [&](T x) { return !laws::same_bits{}(r.lower(r.lift(x), 1), x == x ? x : limits<T>::quiet_NaN()); });
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(two_floats_are_added_as_the_processor_does) {
  reproducible_sum<float> const r;
  auto const a = instructions::anything<float>(200000, 3);
  auto b = instructions::anything<float>(200000, 4);
  for (std::size_t i = 0; i < b.size(); i += 2) {
    b[i] = std::ldexp(a[i], -static_cast<int>(i % 60)) * (1 + b[i] / limits<float>::max());  // of about its size
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i != a.size(); ++i) {
    float const sum = tutti::detail::canonical(a[i] + b[i]);
    wrong += laws::same_bits{}(r.lower(r.combine(r.lift(a[i]), r.lift(b[i])), 2), sum) ? 0U : 1U;
  }
  BOOST_TEST(wrong == 0U);
}

/// Numbers of either sign, whose exponents spread over `spread` binades; a part of them cancels others, up to a trifle.
template <class T>
std::vector<T> adversarial(std::mt19937_64& random, std::size_t n, int spread) {
  int const lowest = static_cast<int>(random() % 200) - 120 - (sizeof(T) == 4 ? 0 : static_cast<int>(random() % 800));
  std::vector<T> all(n);
  for (std::size_t i = 0; i != n; ++i) {
    T const digits = static_cast<T>(random() >> 11) * T(0x1p-52) - 1;
    all[i] = std::ldexp(digits, lowest + static_cast<int>(random() % static_cast<unsigned>(spread)));
    if (i != 0 && random() % 3 == 0) {
      all[i] = -all[random() % i] * (random() % 2 == 0 ? T(1) : 1 + limits<T>::epsilon());
    }
    all[i] = std::isfinite(all[i]) ? all[i] : T(1);
  }
  return all;
}

/// Combined in a random tree.
template <class T>
binned in_a_tree(std::vector<T> const& all, std::mt19937_64& random) {
  std::vector<binned> left;
  for (T const x : all) {
    left.push_back(reproducible_sum<T>::lift(x));
  }
  while (left.size() > 1) {
    std::swap(left[random() % left.size()], left.back());
    binned const one = left.back();
    left.pop_back();
    binned& other = left[random() % left.size()];
    other = random() % 2 == 0 ? tutti::combine(one, other) : tutti::combine(other, one);
  }
  return left.empty() ? binned{} : left[0];
}

BOOST_AUTO_TEST_CASE_TEMPLATE(every_order_and_grouping_gives_the_same_bits, T, both_formats) {
  std::mt19937_64 random(11);
  for (int round = 0; round != 300; ++round) {
    auto all = adversarial<T>(random, 1 + random() % 60, 1 + static_cast<int>(random() % 200));
    if (round % 10 == 0) {
      auto const special = samples<T>();
      all.push_back(special[random() % special.size()]);
    }
    binned in_order;
    for (T const x : all) {
      in_order = tutti::combine(in_order, reproducible_sum<T>::lift(x));
    }
    for (int order = 0; order != 8; ++order) {
      BOOST_REQUIRE((in_a_tree(all, random) == in_order));
    }
  }
}

/// What summing in double, or in a wider type, is allowed to be wrong by: see binned.hpp.
template <class T>
long double allowed(std::vector<T> const& all, T result) {
  long double largest = 0;
  for (T const x : all) {
    largest = std::max(largest, std::abs(static_cast<long double>(x)));
  }
  int exponent = 0;
  static_cast<void>(std::frexp(result, &exponent));
  long double const half_of_the_last_bit = std::max(std::ldexp(1.0L, exponent - limits<T>::digits - 1),
                                                    static_cast<long double>(limits<T>::denorm_min()) / 2);
  return static_cast<long double>(all.size() - 1) * std::ldexp(largest, -54) + half_of_the_last_bit;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(no_sum_is_wrong_by_more_than_is_said, T, both_formats) {
  std::mt19937_64 random(5);
  for (int round = 0; round != 2000; ++round) {
    auto const all = adversarial<T>(random, 1 + random() % 100, 1 + static_cast<int>(random() % 150));
    T const result = reproducible_sum<T>::lower(in_a_tree(all, random), 1);
    if (std::isinf(result)) {
      continue;
    }
    exact::sum difference;
    for (T const x : all) {
      difference.add(double{x});
    }
    difference.add(-double{result});
    BOOST_REQUIRE_MESSAGE(difference.size() <= allowed(all, result), round << ": " << difference.size());
  }
}

/// Where the order of a sum in double makes no difference because nothing is lost, nothing is lost here.
BOOST_AUTO_TEST_CASE_TEMPLATE(what_is_exact_in_double_is_exact, T, both_formats) {
  std::mt19937_64 random(6);
  for (int round = 0; round != 2000; ++round) {
    int const scale = static_cast<int>(random() % 200) - 120;
    std::vector<T> all(1 + random() % 1000);
    double sum = 0;
    for (T& x : all) {  // multiples of 2^scale; all sums stay below 2^52 of them
      unsigned const bits = 1 + static_cast<unsigned>(random() % (sizeof(T) == 4 ? 24 : 42));
      double const whole = static_cast<double>(random() >> (64 - bits)) * (random() % 2 == 0 ? 1 : -1);
      int const up = sizeof(T) == 4 ? static_cast<int>(random() % 18) : 0;
      x = static_cast<T>(std::ldexp(whole, up + scale));
      sum += double{x};
    }
    BOOST_REQUIRE((laws::same_bits{}(reproducible_sum<T>::lower(in_a_tree(all, random), 1), static_cast<T>(sum))));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(as_many_as_are_allowed_fit, T, both_formats) {
  for (T const x : {2 - limits<T>::epsilon(), T(0x1.fffffep-27), T(-0x1.555556p-30), T(0x0.ffffffp26), limits<T>::min(),
                    limits<T>::denorm_min(), limits<T>::max() / 16384}) {
    binned all;
    exact::sum difference;
    for (unsigned i = 0; i != binned::most; ++i) {
      all = tutti::combine(all, reproducible_sum<T>::lift(x));
      difference.add(double{x});
    }
    T const result = reproducible_sum<T>::lower(all, 1);
    BOOST_TEST(std::abs(result) > std::abs(x));
    difference.add(-double{result});
    BOOST_TEST(difference.size() <= allowed<T>({x}, result));
    // and under a number that only just has a higher tier than they have
    for (int up = 1; up != 60; ++up) {
      T const large = std::ldexp(x, up);
      binned const both = tutti::combine(all, reproducible_sum<T>::lift(large));
      exact::sum rest;
      for (unsigned i = 0; i != binned::most; ++i) {
        rest.add(double{x});
      }
      T const more = reproducible_sum<T>::lower(both, 1);
      if (std::isfinite(large) && std::isfinite(more)) {
        rest.add(double{large});
        rest.add(-double{more});
        BOOST_TEST(rest.size() <= allowed(std::vector<T>(binned::most, large), more));
      }
    }
  }
}

template <class T>
T sum_of(std::initializer_list<T> all) {
  binned sum;
  for (T const x : all) {
    sum = tutti::combine(sum, reproducible_sum<T>::lift(x));
  }
  return reproducible_sum<T>::lower(sum, static_cast<tutti::rank_type>(all.size()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(zeros_infinities_and_nan, T, both_formats) {
  T const infinity = limits<T>::infinity();
  T const nan = limits<T>::quiet_NaN();
  T const most = limits<T>::max();
  auto const is = [](T a, T b) { return laws::same_bits{}(a, b); };
  BOOST_TEST(is(sum_of<T>({}), -T(0)));
  BOOST_TEST(is(sum_of<T>({-T(0), -T(0)}), -T(0)));
  BOOST_TEST(is(sum_of<T>({-T(0), T(0), -T(0)}), T(0)));
  BOOST_TEST(is(sum_of<T>({T(3), T(-3)}), T(0)));
  BOOST_TEST(is(sum_of<T>({T(0), limits<T>::denorm_min()}), limits<T>::denorm_min()));
  BOOST_TEST(is(sum_of<T>({infinity, most, infinity}), infinity));
  BOOST_TEST(is(sum_of<T>({-infinity, most}), -infinity));
  BOOST_TEST(is(sum_of<T>({infinity, T(1), -infinity}), nan));
  BOOST_TEST(is(sum_of<T>({-nan, T(1)}), nan));
  BOOST_TEST(is(sum_of<T>({nan, infinity}), nan));
  // Too large on the way is not too large.
  BOOST_TEST(is(sum_of<T>({most, most, -most}), most));
  BOOST_TEST(is(sum_of<T>({most, most}), infinity));
  BOOST_TEST(is(sum_of<T>({-most, -most, most / 4}), -infinity));
}

// At compile time as well.
static_assert(reproducible_sum<float>::lower(reproducible_sum<float>::combine(reproducible_sum<float>::lift(0x1p24F),
                                                                              reproducible_sum<float>::lift(1.0F)),
                                             2) == 0x1p24F);
static_assert(reproducible_sum<double>::lower(tutti::combine(reproducible_sum<double>::lift(0.5),
                                                             reproducible_sum<float>::lift(0.25F)),
                                              2) == 0.75);
static_assert(tutti::reduction<reproducible_sum<binned>> && tutti::detail::symmetric<reproducible_sum<binned>>);

}  // namespace
