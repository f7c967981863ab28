// SPDX-License-Identifier: Apache-2.0
// test: address
#include <reduction/integer.hpp>
#include <tutti/reduction/arithmetic.hpp>

namespace {

BOOST_AUTO_TEST_CASE_TEMPLATE(sum_obeys_the_laws, T, integer::types) {
  integer::check<tutti::sum<T>>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(prod_obeys_the_laws, T, integer::types) {
  integer::check<tutti::prod<T>>();
}

BOOST_AUTO_TEST_CASE(values) {
  BOOST_TEST(tutti::sum<int>::combine(2, 3) == 5);
  BOOST_TEST(tutti::prod<int>::combine(2, 3) == 6);
}

// Evaluated at compile time, where overflow would not compile.
static_assert(tutti::sum<int>::combine(std::numeric_limits<int>::max(), 1) == std::numeric_limits<int>::min());
static_assert(tutti::prod<std::uint16_t>::combine(0xffff, 0xffff) == 1);
static_assert(tutti::prod<std::int64_t>::combine(std::numeric_limits<std::int64_t>::min(), -1) ==
              std::numeric_limits<std::int64_t>::min());

// They have no code for lifting, lowering and sides.
static_assert(!tutti::detail::lifts<tutti::sum<int>> && !tutti::detail::lowers<tutti::sum<int>> &&
              tutti::detail::symmetric<tutti::sum<int>>);

template <class T>
concept has_mean = requires { typename tutti::mean<T>; };
static_assert(has_mean<float> && !has_mean<int>);

template <class T>
concept has_sum = requires { typename tutti::sum<T>; };
static_assert(has_sum<char> && !has_sum<bool> && !has_sum<long double>);

}  // namespace
