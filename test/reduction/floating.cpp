// SPDX-License-Identifier: Apache-2.0
// test: address
#include <laws/reduction.hpp>
#include <tutti/detail/reduction/short_block.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <limits>
#include <tuple>

namespace {

using types = std::tuple<float, double>;

template <class T>
using limits = std::numeric_limits<T>;

/// A quiet NaN with its sign set and a payload.
template <class T>
T odd_nan() {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(std::bit_cast<bits>(-limits<T>::quiet_NaN()) | 0x1234U);
}

template <class T>
std::vector<T> const finite{T(0), T(-0.0), T(1), T(-1.5), T(0.1), T(3e7), T(1e-9), limits<T>::denorm_min()};

template <class T>
std::vector<T> const special = [] {
  std::vector<T> samples = finite<T>;
  samples.insert(samples.end(), {limits<T>::infinity(), -limits<T>::infinity(), limits<T>::quiet_NaN(), odd_nan<T>(),
                                 limits<T>::max(), limits<T>::lowest()});
  return samples;
}();

struct same_but_nan {
  template <class T>
  bool operator()(T a, T b) const {
    return (a != a && b != b) || laws::same_bits{}(a, b);
  }
};

template <class R>
void check() {
  using T = typename R::value_type;
  BOOST_TEST(laws::algebra(R{}, std::span<T const>(special<T>), laws::same_bits{}, same_but_nan{}) == "");
  BOOST_TEST(laws::kernels(R{}, std::span<T const>(special<T>), laws::same_bits{}, same_but_nan{}) == "");
  BOOST_TEST(laws::kernels(R{}, std::span<T const>(finite<T>), laws::same_bits{}) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sum_obeys_the_laws, T, types) {
  check<tutti::sum<T>>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(prod_obeys_the_laws, T, types) {
  check<tutti::prod<T>>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(min_obeys_the_laws, T, types) {
  check<tutti::min<T>>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(max_obeys_the_laws, T, types) {
  check<tutti::max<T>>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(mean_obeys_the_laws, T, types) {
  check<tutti::mean<T>>();
}

/// Every NaN in a result has one bit pattern, for any NaNs in the operands and in any order.
template <class R>
void check_nan() {
  using T = typename R::value_type;
  auto const nan = limits<T>::quiet_NaN();
  for (T x : {nan, -nan, odd_nan<T>()}) {
    for (T y : special<T>) {
      BOOST_TEST(laws::same_bits{}(R::lower(R::combine(x, y), 3), nan));
      BOOST_TEST(laws::same_bits{}(R::lower(R::combine(y, x), 3), nan));
    }
    BOOST_TEST(laws::same_bits{}(R::lower(R::lift(x), 1), nan));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nan_in_nan_out, T, types) {
  check_nan<tutti::sum<T>>();
  check_nan<tutti::prod<T>>();
  check_nan<tutti::min<T>>();
  check_nan<tutti::max<T>>();
  check_nan<tutti::mean<T>>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(infinities_of_both_signs_add_to_nan, T, types) {
  T const inf = limits<T>::infinity();
  BOOST_TEST(laws::same_bits{}(tutti::sum<T>::lower(tutti::sum<T>::combine(inf, -inf), 2), limits<T>::quiet_NaN()));
  BOOST_TEST(laws::same_bits{}(tutti::sum<T>::lower(tutti::sum<T>::combine(-inf, inf), 2), limits<T>::quiet_NaN()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(min_and_max_order_everything, T, types) {
  // Ascending, with -0 below +0: min selects the earlier one and max the later one, in either order.
  std::vector<T> const ascending{-limits<T>::infinity(),
                                 limits<T>::lowest(),
                                 T(-1.5),
                                 -limits<T>::denorm_min(),
                                 T(-0.0),
                                 T(0.0),
                                 limits<T>::denorm_min(),
                                 T(0.1),
                                 limits<T>::max(),
                                 limits<T>::infinity()};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = i; j < ascending.size(); ++j) {
      T const low = ascending[i];
      T const high = ascending[j];
      BOOST_TEST(laws::same_bits{}(tutti::min<T>::combine(low, high), low));
      BOOST_TEST(laws::same_bits{}(tutti::min<T>::combine(high, low), low));
      BOOST_TEST(laws::same_bits{}(tutti::max<T>::combine(low, high), high));
      BOOST_TEST(laws::same_bits{}(tutti::max<T>::combine(high, low), high));
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(mean_divides_by_the_ranks, T, types) {
  using mean = tutti::mean<T>;
  BOOST_TEST(mean::lower(mean::combine(T(1), mean::combine(T(2), T(6))), 3) == T(3));
}

}  // namespace
