// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE reduction_instructions_floating
#include <reduction/instructions.hpp>
#include <tutti/core/bfloat16.hpp>
#include <tutti/core/half.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <tuple>

namespace {

using types = std::tuple<float, double, tutti::half, tutti::bfloat16>;

BOOST_AUTO_TEST_CASE_TEMPLATE(sum, T, types) {
  instructions::check(tutti::sum<T>{});
}
BOOST_AUTO_TEST_CASE_TEMPLATE(prod, T, types) {
  instructions::check(tutti::prod<T>{});
}
BOOST_AUTO_TEST_CASE_TEMPLATE(min, T, types) {
  instructions::check(tutti::min<T>{});
}
BOOST_AUTO_TEST_CASE_TEMPLATE(max, T, types) {
  instructions::check(tutti::max<T>{});
}
BOOST_AUTO_TEST_CASE_TEMPLATE(mean, T, types) {
  instructions::check(tutti::mean<T>{});
}

BOOST_AUTO_TEST_CASE(streamed) {
  instructions::check_streamed(tutti::sum<float>{});
  instructions::check_streamed(tutti::sum<tutti::half>{});
}

}  // namespace
