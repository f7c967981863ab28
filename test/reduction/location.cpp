// SPDX-License-Identifier: Apache-2.0
// test: address
#include <laws/reduction.hpp>
#include <tutti/reduction/location.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

namespace {

using floating = std::tuple<float, double>;
using types = std::tuple<float, double, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;

static_assert(tutti::element_name<tutti::indexed_value<float>>() == "float32@index");
static_assert(sizeof(tutti::indexed_value<float>) == 8 && sizeof(tutti::indexed_value<double>) == 16);
// A pair has no padding, so the index is as large as the number.
template <class T, class Index>
concept locatable = requires { typename tutti::indexed_value<T, Index>; };
static_assert(locatable<std::int16_t, std::uint16_t> && !locatable<std::int16_t, std::uint32_t>);
static_assert(!locatable<float, std::int32_t>);
#ifdef __SIZEOF_INT128__
__extension__ using uint128 = unsigned __int128;
static_assert(locatable<uint128, uint128> && !locatable<uint128, std::uint64_t>);
static_assert(static_cast<uint128>(~tutti::max_location<uint128, uint128>::identity().index) == 0);
#endif

template <class T>
using pairs = std::vector<tutti::indexed_value<T>>;

/// Random pairs of few different numbers, so that many are equal. Floating-point numbers include zeros of both signs,
/// infinities and NaNs.
template <class T>
pairs<T> random_pairs(std::size_t n, unsigned seed, bool nans) {
  using limits = std::numeric_limits<T>;
  std::vector<T> values{T(0), T(1), T(2), limits::max(), limits::lowest()};
  if constexpr (std::floating_point<T>) {
    values.insert(values.end(), {T(-0.0), T(-1.5), limits::infinity(), -limits::infinity(), limits::denorm_min()});
    if (nans) {
      values.insert(values.end(), {limits::quiet_NaN(), -limits::quiet_NaN()});
    }
  }
  std::mt19937 random(seed);
  pairs<T> samples(n);
  for (auto& p : samples) {
    p.value = values[random() % values.size()];
    p.index = static_cast<decltype(p.index)>(random() % 4);
  }
  return samples;
}

struct same_but_nan {
  template <class P>
  bool operator()(P a, P b) const {
    return a.index == b.index && ((a.value != a.value && b.value != b.value) || laws::same_bits{}(a, b));
  }
};

template <class R>
void check() {
  using pair = typename R::value_type;
  auto const samples = random_pairs<decltype(pair::value)>(60, 1, true);
  std::span<pair const> const span(samples);
  BOOST_TEST(laws::algebra(R{}, span, laws::same_bits{}, same_but_nan{}) == "");
  BOOST_TEST(laws::kernels(R{}, span, laws::same_bits{}, same_but_nan{}) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(min_location_obeys_the_laws, T, types) {
  check<tutti::min_location<T>>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(max_location_obeys_the_laws, T, types) {
  check<tutti::max_location<T>>();
}

template <class R>
[[nodiscard]] typename R::value_type fold(std::vector<typename R::value_type> const& samples) {
  auto acc = R::identity();
  for (auto const& x : samples) {
    acc = R::combine(acc, x);
  }
  return R::lower(acc, static_cast<tutti::rank_type>(samples.size()));
}

/// Checks that the number is the result of Extreme, and that the index is the lowest one of that number.
template <class R, class Extreme, class T>
void agrees_with(bool nans) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    auto const samples = random_pairs<T>(1 + seed % 9, seed, nans);
    T extreme = Extreme::identity();
    for (auto const& x : samples) {
      extreme = Extreme::combine(extreme, x.value);
    }
    extreme = Extreme::lower(extreme, 1);
    auto lowest = std::numeric_limits<decltype(samples[0].index)>::max();
    for (auto const& x : samples) {
      if (laws::same_bits{}(Extreme::lower(x.value, 1), extreme)) {
        lowest = std::min(lowest, x.index);
      }
    }
    auto const result = fold<R>(samples);
    BOOST_TEST(laws::same_bits{}(result.value, extreme));
    BOOST_TEST(result.index == lowest);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_number_is_that_of_min_and_max, T, types) {
  for (bool const nans : {false, true}) {
    agrees_with<tutti::min_location<T>, tutti::min<T>, T>(nans);
    agrees_with<tutti::max_location<T>, tutti::max<T>, T>(nans);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nan_takes_precedence, T, floating) {
  auto const nan = std::numeric_limits<T>::quiet_NaN();
  auto const infinity = std::numeric_limits<T>::infinity();
  pairs<T> const samples{{-infinity, 0}, {nan, 7}, {infinity, 1}, {-nan, 5}, {0, 2}};
  BOOST_TEST(fold<tutti::min_location<T>>(samples).index == 5U);
  BOOST_TEST(fold<tutti::max_location<T>>(samples).index == 5U);
}

}  // namespace
