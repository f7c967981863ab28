// SPDX-License-Identifier: Apache-2.0
// test: address
#include <reduction/integer.hpp>
#include <tutti/reduction/arithmetic.hpp>

namespace {

BOOST_AUTO_TEST_CASE_TEMPLATE(min_obeys_the_laws, T, integer::types) {
  integer::check<tutti::min<T>>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(max_obeys_the_laws, T, integer::types) {
  integer::check<tutti::max<T>>();
}

BOOST_AUTO_TEST_CASE(values) {
  BOOST_TEST(tutti::min<int>::combine(-2, 3) == -2);
  BOOST_TEST(tutti::max<int>::combine(-2, 3) == 3);
  BOOST_TEST(tutti::min<unsigned>::combine(2, 0x80000000U) == 2U);
  BOOST_TEST(tutti::max<unsigned>::combine(2, 0x80000000U) == 0x80000000U);
}

}  // namespace
