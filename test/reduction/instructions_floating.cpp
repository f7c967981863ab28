// SPDX-License-Identifier: Apache-2.0
// test: address optimised
#include <reduction/instructions.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <tuple>

namespace {

using arithmetic = instructions::arithmetic_of<float, double, tutti::half, tutti::bfloat16>;

BOOST_AUTO_TEST_CASE_TEMPLATE(every_instruction_set_gives_the_same_bits, R, arithmetic) {
  instructions::check(R{});
}

using types = std::tuple<float, double, tutti::half, tutti::bfloat16>;

BOOST_AUTO_TEST_CASE_TEMPLATE(mean, T, types) {
  instructions::check(tutti::mean<T>{});
}

BOOST_AUTO_TEST_CASE(streamed) {
  instructions::check_streamed(tutti::sum<float>{});
  instructions::check_streamed(tutti::sum<tutti::half>{});
}

}  // namespace
