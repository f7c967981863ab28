// SPDX-License-Identifier: Apache-2.0
// test: address
#include <core/short_float.hpp>
#include <tutti/bfloat16.hpp>

namespace {

using tutti::bfloat16;

constexpr short_float::format upper_half{.precision = 8, .least_exponent = -126, .greatest_exponent = 127};

BOOST_AUTO_TEST_CASE(every_value_widens) {
  BOOST_TEST(short_float::wrongly_widened<bfloat16>(upper_half) == "");
}
BOOST_AUTO_TEST_CASE(every_value_survives_the_way_to_float_and_back) {
  BOOST_TEST(short_float::wrongly_restored<bfloat16>() == "");
}
BOOST_AUTO_TEST_CASE(floats_around_every_boundary_round_to_the_nearest) {
  BOOST_TEST(short_float::wrongly_rounded_boundary<bfloat16>(upper_half) == "");
}
BOOST_AUTO_TEST_CASE(any_float_rounds_to_the_nearest) {
  BOOST_TEST(short_float::wrongly_rounded_at_random<bfloat16>(upper_half) == "");
}
BOOST_AUTO_TEST_CASE(nan_stays_nan) {
  BOOST_TEST(short_float::wrong_nan<bfloat16>(16) == "");
}
BOOST_AUTO_TEST_CASE(limits) {
  BOOST_TEST(short_float::wrong_limits<bfloat16>(upper_half) == "");
}

static_assert(tutti::element_name<bfloat16>() == "bfloat16");
static_assert(bfloat16(1.00390625F).bits() == 0x3f80 && bfloat16(1.01171875F).bits() == 0x3f82);  // ties go to even
static_assert(bfloat16(0x1.ffp127F) == std::numeric_limits<float>::infinity());
static_assert(bfloat16(1.0F) + bfloat16(0.5F) == 1.5F);
static_assert(!std::is_convertible_v<float, bfloat16>);  // a lossy conversion is explicit

}  // namespace
