// SPDX-License-Identifier: Apache-2.0
// test: address
#include <laws/reduction.hpp>
#include <tutti/detail/reduction/fold.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <boost/test/unit_test.hpp>

#include <complex>
#include <cstddef>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

namespace {

using types = std::tuple<std::complex<float>, std::complex<double>>;

static_assert(tutti::element_name<std::complex<float>>() == "complex64");
static_assert(tutti::element_name<std::complex<double>>() == "complex128");
static_assert(!tutti::complex_number<std::complex<long double>> && !tutti::complex_number<float>);
static_assert(tutti::field_number<std::complex<float>> &&
              !tutti::detail::number<std::complex<float>>);  // complex numbers have no order

template <class T>
using part = typename T::value_type;

template <class T>
std::vector<T> const finite = [] {
  std::vector<T> samples;
  for (double const x : {0.0, -0.0, 1.0, -1.5, 0.1, 3e7, 1e-9}) {
    for (double const y : {0.0, -0.0, -3.0, 0.7}) {
      samples.emplace_back(static_cast<part<T>>(x), static_cast<part<T>>(y));
    }
  }
  return samples;
}();

template <class T>
std::vector<T> const special = [] {
  using limits = std::numeric_limits<part<T>>;
  std::vector<T> samples = finite<T>;
  for (part<T> const x : {limits::infinity(), -limits::infinity(), limits::quiet_NaN(), limits::max(), part<T>(2)}) {
    for (part<T> const y : {limits::lowest(), -limits::quiet_NaN(), part<T>(0)}) {
      samples.emplace_back(x, y);
      samples.emplace_back(y, x);
    }
  }
  return samples;
}();

/// Compares parts by their bits, but all NaNs are equal, and for products zeros of both signs are.
template <bool SignsOfZeros>
struct same_parts {
  template <class P>
  static bool is_same(P a, P b) {
    return (a != a && b != b) || (SignsOfZeros ? laws::same_bits{}(a, b) : a == b);
  }
  template <class T>
  bool operator()(T a, T b) const {
    return is_same(a.real(), b.real()) && is_same(a.imag(), b.imag());
  }
};

BOOST_AUTO_TEST_CASE_TEMPLATE(sum_obeys_the_laws, T, types) {
  using sum = tutti::sum<T>;
  BOOST_TEST(laws::algebra(sum{}, std::span<T const>(special<T>), laws::same_bits{}, same_parts<true>{}) == "");
  BOOST_TEST(laws::kernels(sum{}, std::span<T const>(special<T>), laws::same_bits{}, same_parts<true>{}) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(prod_obeys_the_laws, T, types) {
  using prod = tutti::prod<T>;
  BOOST_TEST(laws::algebra(prod{}, std::span<T const>(finite<T>), same_parts<false>{}, same_parts<true>{}) == "");
  BOOST_TEST(laws::kernels(prod{}, std::span<T const>(special<T>), laws::same_bits{}, same_parts<true>{}) == "");
}

/// Two ranks combine the same two numbers in opposite orders.
BOOST_AUTO_TEST_CASE_TEMPLATE(both_orders_have_the_same_bits, T, types) {
  for (T const a : special<T>) {
    for (T const b : special<T>) {
      using prod = tutti::prod<T>;
      BOOST_TEST(laws::same_bits{}(prod::lower(prod::combine(a, b), 2), prod::lower(prod::combine(b, a), 2)));
    }
  }
}

/// Loops over many numbers in opposite orders. test/reduction/vectorised checks the code of compilers that may fuse.
BOOST_AUTO_TEST_CASE_TEMPLATE(loops_in_both_orders_have_the_same_bits, T, types) {
  constexpr std::size_t count = 1003;
  std::mt19937 random(5);
  std::uniform_real_distribution<part<T>> parts(-1, 1);
  std::vector<T> a(count);
  std::vector<T> b(count);
  for (std::vector<T>* numbers : {&a, &b}) {
    for (T& x : *numbers) {
      x = T(parts(random), parts(random));
    }
  }
  auto const fold = [](std::vector<T> const& local, std::vector<T> const& arriving) {
    std::vector<T> result(local.size());
    tutti::detail::fold(tutti::prod<T>{}, tutti::detail::fold_kind{}, reinterpret_cast<std::byte const*>(local.data()),
                        reinterpret_cast<std::byte const*>(arriving.data()),
                        reinterpret_cast<std::byte*>(result.data()), count, 2);
    return result;
  };
  auto const ab = fold(a, b);
  auto const ba = fold(b, a);
  for (std::size_t i = 0; i < count; ++i) {
    BOOST_REQUIRE(laws::same_bits{}(ab[i], ba[i]));
    BOOST_REQUIRE(laws::same_bits{}(ab[i], tutti::prod<T>::combine(a[i], b[i])));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(they_are_those_of_the_standard_library, T, types) {
  for (T const a : finite<T>) {
    for (T const b : finite<T>) {
      using prod = tutti::prod<T>;
      BOOST_TEST(laws::same_bits{}(tutti::sum<T>::combine(a, b), a + b));
      auto const bound = std::numeric_limits<part<T>>::epsilon() * std::abs(a) * std::abs(b);
      BOOST_TEST(std::abs(prod::combine(a, b) - a * b) <= bound);
    }
  }
}

}  // namespace
