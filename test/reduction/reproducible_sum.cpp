// SPDX-License-Identifier: Apache-2.0
// test: address
#include <laws/reduction.hpp>
#include <reduction/exact_sum.hpp>
#include <reduction/instructions.hpp>
#include <tutti/detail/reduction/binned_block.hpp>
#include <tutti/extend/binned_sum.hpp>
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

using tutti::binned_sum;
using tutti::reproducible_sum;
using both_formats = std::tuple<float, double>;

template <class T>
using limits = std::numeric_limits<T>;

/// Special values, and numbers of many exponents.
template <class T>
std::vector<T> samples() {
  std::vector<T> numbers{T(0),
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
    numbers.push_back(std::ldexp(T(1.2345678901234567), e));
    numbers.push_back(-std::ldexp(2 - limits<T>::epsilon(), e));
  }
  return numbers;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_algebra, T, both_formats) {
  auto const numbers = samples<T>();
  BOOST_TEST(laws::algebra(reproducible_sum<T>{}, std::span<T const>(numbers)) == "");
}

/// Kernels of every instruction set. Blocks of numbers of one tier have code of their own. Kernels of double differ
/// from those of float in scalar functions only.
BOOST_AUTO_TEST_CASE(the_kernels) {
  auto const numbers = samples<float>();
  std::vector<float> of_one_tier;
  for (int i = 1; i != 40; ++i) {
    of_one_tier.push_back(std::ldexp(i % 3 == 0 ? 1.2345678F : -1.8765432F, -i % 20));
  }
  for (auto const set : instructions::available()) {
    instructions::limited_to const limit(set);
    BOOST_TEST(laws::kernels(reproducible_sum<float>{}, std::span<float const>(numbers)) == "");
    BOOST_TEST(laws::kernels(reproducible_sum<float>{}, std::span<float const>(of_one_tier)) == "");
  }
}

/// A user's reduction over accumulators: selects the one with the greater words.
struct greater {
  using value_type = binned_sum;
  using accumulator_type = binned_sum;
  static constexpr std::string_view name = "greater";
  static constexpr bool commutative = true;
  static constexpr bool associative = true;

  [[nodiscard]] static constexpr binned_sum identity() noexcept { return {}; }
  [[nodiscard]] static constexpr binned_sum lift(binned_sum const& x) noexcept { return x; }
  [[nodiscard]] static constexpr binned_sum combine(binned_sum const& a, binned_sum const& b) noexcept {
    return std::pair(a.high, a.low) < std::pair(b.high, b.low) ? b : a;
  }
  [[nodiscard]] static constexpr binned_sum lower(binned_sum const& a, tutti::rank_type) noexcept { return a; }
};

BOOST_AUTO_TEST_CASE(other_reductions_over_accumulators_keep_their_combine) {
  std::vector<binned_sum> numbers;
  for (double const x : instructions::random_numbers<double>(100, 3)) {
    numbers.push_back(tutti::detail::to_bins(x));
  }
  for (auto const set : instructions::available()) {
    instructions::limited_to const limit(set);
    BOOST_TEST(laws::kernels(greater{}, std::span<binned_sum const>(numbers)) == "");
  }
}

BOOST_AUTO_TEST_CASE(accumulators_as_elements) {
  std::vector<binned_sum> numbers;
  for (double const x : samples<double>()) {
    numbers.push_back(tutti::combine(tutti::detail::to_bins(x), tutti::detail::to_bins(0.1F)));
  }
  BOOST_TEST(laws::algebra(reproducible_sum<binned_sum>{}, std::span<binned_sum const>(numbers)) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_single_number_comes_back, T, both_formats) {
  reproducible_sum<T> const r;
  auto const numbers = instructions::random_numbers<T>(200000, 7);
  auto const wrong = std::ranges::count_if(
      numbers, [&](T x) { return !laws::same_bits{}(r.lower(r.lift(x), 1), x == x ? x : limits<T>::quiet_NaN()); });
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(two_floats_are_added_as_the_processor_does) {
  reproducible_sum<float> const r;
  auto const a = instructions::random_numbers<float>(200000, 3);
  auto b = instructions::random_numbers<float>(200000, 4);
  for (std::size_t i = 0; i < b.size(); i += 2) {
    b[i] = std::ldexp(a[i], -static_cast<int>(i % 60)) * (1 + b[i] / limits<float>::max());  // nearly as large
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i != a.size(); ++i) {
    float const sum = tutti::detail::canonical(a[i] + b[i]);
    wrong += laws::same_bits{}(r.lower(r.combine(r.lift(a[i]), r.lift(b[i])), 2), sum) ? 0U : 1U;
  }
  BOOST_TEST(wrong == 0U);
}

/// Numbers of either sign with exponents in `spread` binades. Some nearly cancel others.
template <class T>
std::vector<T> adversarial(std::mt19937_64& random, std::size_t n, int spread) {
  int const lowest = static_cast<int>(random() % 200) - 120 - (sizeof(T) == 4 ? 0 : static_cast<int>(random() % 800));
  std::vector<T> numbers(n);
  for (std::size_t i = 0; i != n; ++i) {
    T const digits = static_cast<T>(random() >> 11) * T(0x1p-52) - 1;
    numbers[i] = std::ldexp(digits, lowest + static_cast<int>(random() % static_cast<unsigned>(spread)));
    if (i != 0 && random() % 3 == 0) {
      numbers[i] = -numbers[random() % i] * (random() % 2 == 0 ? T(1) : 1 + limits<T>::epsilon());
    }
    numbers[i] = std::isfinite(numbers[i]) ? numbers[i] : T(1);
  }
  return numbers;
}

/// Combines all numbers in a random tree.
template <class T>
binned_sum combine_in_tree(std::vector<T> const& numbers, std::mt19937_64& random) {
  std::vector<binned_sum> accumulators;
  for (T const x : numbers) {
    accumulators.push_back(reproducible_sum<T>::lift(x));
  }
  while (accumulators.size() > 1) {
    std::swap(accumulators[random() % accumulators.size()], accumulators.back());
    binned_sum const accumulator = accumulators.back();
    accumulators.pop_back();
    binned_sum& other = accumulators[random() % accumulators.size()];
    other = random() % 2 == 0 ? tutti::combine(accumulator, other) : tutti::combine(other, accumulator);
  }
  return accumulators.empty() ? binned_sum{} : accumulators[0];
}

BOOST_AUTO_TEST_CASE_TEMPLATE(every_order_and_grouping_gives_the_same_bits, T, both_formats) {
  std::mt19937_64 random(11);
  for (int round = 0; round != 300; ++round) {
    auto numbers = adversarial<T>(random, 1 + random() % 60, 1 + static_cast<int>(random() % 200));
    if (round % 10 == 0) {
      auto const special = samples<T>();
      numbers.push_back(special[random() % special.size()]);
    }
    binned_sum in_order;
    for (T const x : numbers) {
      in_order = tutti::combine(in_order, reproducible_sum<T>::lift(x));
    }
    for (int order = 0; order != 8; ++order) {
      BOOST_REQUIRE((combine_in_tree(numbers, random) == in_order));
    }
  }
}

/// The error bound that binned.hpp promises.
template <class T>
long double bound(std::vector<T> const& numbers, T result) {
  long double largest = 0;
  for (T const x : numbers) {
    largest = std::max(largest, std::abs(static_cast<long double>(x)));
  }
  int exponent = 0;
  static_cast<void>(std::frexp(result, &exponent));
  long double const half_of_the_last_bit = std::max(std::ldexp(1.0L, exponent - limits<T>::digits - 1),
                                                    static_cast<long double>(limits<T>::denorm_min()) / 2);
  return static_cast<long double>(numbers.size() - 1) * std::ldexp(largest, -54) + half_of_the_last_bit;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(no_sum_is_wrong_by_more_than_is_said, T, both_formats) {
  std::mt19937_64 random(5);
  for (int round = 0; round != 2000; ++round) {
    auto const numbers = adversarial<T>(random, 1 + random() % 100, 1 + static_cast<int>(random() % 150));
    T const result = reproducible_sum<T>::lower(combine_in_tree(numbers, random), 1);
    if (std::isinf(result)) {
      continue;
    }
    exact::sum difference;
    for (T const x : numbers) {
      difference.add(double{x});
    }
    difference.add(-double{result});
    BOOST_REQUIRE_MESSAGE(difference.size() <= bound(numbers, result), round << ": " << difference.size());
  }
}

/// A sum that is exact in double in every order is exact here.
BOOST_AUTO_TEST_CASE_TEMPLATE(what_is_exact_in_double_is_exact, T, both_formats) {
  std::mt19937_64 random(6);
  for (int round = 0; round != 2000; ++round) {
    int const scale = static_cast<int>(random() % 200) - 120;
    std::vector<T> numbers(1 + random() % 1000);
    double sum = 0;
    for (T& x : numbers) {  // multiples of 2^scale; all sums stay below 2^52 of them
      unsigned const bits = 1 + static_cast<unsigned>(random() % (sizeof(T) == 4 ? 24 : 42));
      double const whole = static_cast<double>(random() >> (64 - bits)) * (random() % 2 == 0 ? 1 : -1);
      int const up = sizeof(T) == 4 ? static_cast<int>(random() % 18) : 0;
      x = static_cast<T>(std::ldexp(whole, up + scale));
      sum += double{x};
    }
    BOOST_REQUIRE(
        (laws::same_bits{}(reproducible_sum<T>::lower(combine_in_tree(numbers, random), 1), static_cast<T>(sum))));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(as_many_as_are_allowed_fit, T, both_formats) {
  for (T const x : {2 - limits<T>::epsilon(), T(0x1.fffffep-27), T(-0x1.555556p-30), T(0x0.ffffffp26), limits<T>::min(),
                    limits<T>::denorm_min(), limits<T>::max() / 16384}) {
    binned_sum sum;
    exact::sum difference;
    for (unsigned i = 0; i != binned_sum::limit; ++i) {
      sum = tutti::combine(sum, reproducible_sum<T>::lift(x));
      difference.add(double{x});
    }
    T const result = reproducible_sum<T>::lower(sum, 1);
    BOOST_TEST(std::abs(result) > std::abs(x));
    difference.add(-double{result});
    BOOST_TEST(difference.size() <= bound<T>({x}, result));
    // The sum stays correct if a number of a slightly higher tier is added.
    for (int up = 1; up != 60; ++up) {
      T const large = std::ldexp(x, up);
      binned_sum const total = tutti::combine(sum, reproducible_sum<T>::lift(large));
      exact::sum rest;
      for (unsigned i = 0; i != binned_sum::limit; ++i) {
        rest.add(double{x});
      }
      T const more = reproducible_sum<T>::lower(total, 1);
      if (std::isfinite(large) && std::isfinite(more)) {
        rest.add(double{large});
        rest.add(-double{more});
        BOOST_TEST(rest.size() <= bound(std::vector<T>(binned_sum::limit, large), more));
      }
    }
  }
}

template <class T>
T sum_of(std::initializer_list<T> numbers) {
  binned_sum sum;
  for (T const x : numbers) {
    sum = tutti::combine(sum, reproducible_sum<T>::lift(x));
  }
  return reproducible_sum<T>::lower(sum, static_cast<tutti::rank_type>(numbers.size()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(zeros_infinities_and_nan, T, both_formats) {
  T const infinity = limits<T>::infinity();
  T const nan = limits<T>::quiet_NaN();
  T const largest = limits<T>::max();
  auto const is = [](T a, T b) { return laws::same_bits{}(a, b); };
  BOOST_TEST(is(sum_of<T>({}), -T(0)));
  BOOST_TEST(is(sum_of<T>({-T(0), -T(0)}), -T(0)));
  BOOST_TEST(is(sum_of<T>({-T(0), T(0), -T(0)}), T(0)));
  BOOST_TEST(is(sum_of<T>({T(3), T(-3)}), T(0)));
  BOOST_TEST(is(sum_of<T>({T(0), limits<T>::denorm_min()}), limits<T>::denorm_min()));
  BOOST_TEST(is(sum_of<T>({infinity, largest, infinity}), infinity));
  BOOST_TEST(is(sum_of<T>({-infinity, largest}), -infinity));
  BOOST_TEST(is(sum_of<T>({infinity, T(1), -infinity}), nan));
  BOOST_TEST(is(sum_of<T>({-nan, T(1)}), nan));
  BOOST_TEST(is(sum_of<T>({nan, infinity}), nan));
  // A partial sum beyond the range does not make the result infinite.
  BOOST_TEST(is(sum_of<T>({largest, largest, -largest}), largest));
  BOOST_TEST(is(sum_of<T>({largest, largest}), infinity));
  BOOST_TEST(is(sum_of<T>({-largest, -largest, largest / 4}), -infinity));
}

// In constant expressions.
static_assert(reproducible_sum<float>::lower(reproducible_sum<float>::combine(reproducible_sum<float>::lift(0x1p24F),
                                                                              reproducible_sum<float>::lift(1.0F)),
                                             2) == 0x1p24F);
static_assert(reproducible_sum<double>::lower(tutti::combine(reproducible_sum<double>::lift(0.5),
                                                             reproducible_sum<float>::lift(0.25F)),
                                              2) == 0.75);
static_assert(tutti::reduction<reproducible_sum<binned_sum>> && tutti::detail::symmetric<reproducible_sum<binned_sum>>);

}  // namespace
