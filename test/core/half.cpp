// SPDX-License-Identifier: Apache-2.0
// test: address
#include <core/short_float.hpp>
#include <tutti/half.hpp>

namespace {

using tutti::half;

constexpr short_float::format binary16{.precision = 11, .least_exponent = -14, .greatest_exponent = 15};

BOOST_AUTO_TEST_CASE(every_value_widens) {
  BOOST_TEST(short_float::wrongly_widened<half>(binary16) == "");
}
BOOST_AUTO_TEST_CASE(every_value_survives_the_way_to_float_and_back) {
  BOOST_TEST(short_float::wrongly_restored<half>() == "");
}
BOOST_AUTO_TEST_CASE(floats_around_every_boundary_round_to_the_nearest) {
  BOOST_TEST(short_float::wrongly_rounded_boundary<half>(binary16) == "");
}
BOOST_AUTO_TEST_CASE(any_float_rounds_to_the_nearest) {
  BOOST_TEST(short_float::wrongly_rounded_at_random<half>(binary16) == "");
}
BOOST_AUTO_TEST_CASE(nan_stays_nan) {
  BOOST_TEST(short_float::wrong_nan<half>(13) == "");
}
BOOST_AUTO_TEST_CASE(limits) {
  BOOST_TEST(short_float::wrong_limits<half>(binary16) == "");
}

static_assert(tutti::element_name<half>() == "float16");
static_assert(half(65504.0F).bits() == 0x7bff && half(65520.0F).bits() == 0x7c00);
static_assert(half(0x1p-25F).bits() == 0 && half(0x1.8p-25F).bits() == 1);  // a tie goes to even
static_assert(half(1.0F) + half(0.5F) == 1.5F);
static_assert(!std::is_convertible_v<float, half>);  // a lossy conversion is explicit

}  // namespace
