// SPDX-License-Identifier: Apache-2.0
// test: address
#include <reduction/integer.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/saturating_sum.hpp>

#include <algorithm>

namespace {

BOOST_AUTO_TEST_CASE_TEMPLATE(sum_obeys_the_laws, T, integer::types) {
  integer::check<tutti::sum<T>>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(prod_obeys_the_laws, T, integer::types) {
  integer::check<tutti::prod<T>>();
}

#ifdef __SIZEOF_INT128__
using signed_types = std::tuple<std::int8_t, std::int16_t, std::int32_t, std::int64_t, integer::int128>;
#else
using signed_types = std::tuple<std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
#endif

BOOST_AUTO_TEST_CASE_TEMPLATE(saturating_sum_obeys_the_laws, T, signed_types) {
  integer::check<tutti::saturating_sum<T>>();
}
BOOST_AUTO_TEST_CASE(saturating_sum_is_the_sum_within_bounds) {
  using narrow = std::int8_t;
  for (int a = -128; a < 128; ++a) {
    for (int b = -128; b < 128; ++b) {
      int const sum = tutti::saturating_sum<narrow>::combine(static_cast<narrow>(a), static_cast<narrow>(b));
      if (sum != std::clamp(a + b, -128, 127)) {
        BOOST_FAIL(a << " + " << b << " is " << sum);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(values) {
  BOOST_TEST(tutti::sum<int>::combine(2, 3) == 5);
  BOOST_TEST(tutti::prod<int>::combine(2, 3) == 6);
}

// In constant expressions, where signed overflow does not compile.
static_assert(tutti::sum<int>::combine(std::numeric_limits<int>::max(), 1) == std::numeric_limits<int>::min());
static_assert(tutti::prod<std::uint16_t>::combine(0xffff, 0xffff) == 1);
static_assert(tutti::prod<std::int64_t>::combine(std::numeric_limits<std::int64_t>::min(), -1) ==
              std::numeric_limits<std::int64_t>::min());

// Sums of integers need no kernels for lifting, lowering and both sides.
static_assert(!tutti::detail::lifts<tutti::sum<int>> && !tutti::detail::lowers<tutti::sum<int>> &&
              tutti::detail::symmetric<tutti::sum<int>>);

static_assert(tutti::saturating_sum<std::int32_t>::combine(std::numeric_limits<std::int32_t>::min(), -1) ==
              std::numeric_limits<std::int32_t>::min());

// The operations of devices in the network.
static_assert(tutti::network_operation_of<tutti::sum<float>> == tutti::network_operation::sum_float32);
static_assert(tutti::network_operation_of<tutti::mean<float>> == tutti::network_operation::sum_float32);
static_assert(tutti::network_operation_of<tutti::max<float>> == tutti::network_operation::max_float32);
static_assert(tutti::network_operation_of<tutti::saturating_sum<std::int32_t>> ==
              tutti::network_operation::saturating_sum_int32);
static_assert(tutti::network_operation_of<tutti::sum<double>> == tutti::network_operation::none);
static_assert(tutti::network_operation_of<tutti::sum<std::int32_t>> == tutti::network_operation::none);
static_assert(tutti::network_operation_of<tutti::sum<tutti::half>> == tutti::network_operation::none);
static_assert(tutti::network_operation_of<tutti::min<float>> == tutti::network_operation::none);
static_assert(tutti::network_operation_of<tutti::saturating_sum<std::int64_t>> == tutti::network_operation::none);

static_assert(tutti::field_number<char> && !tutti::field_number<bool> && !tutti::field_number<long double>);

}  // namespace
