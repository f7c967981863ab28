// SPDX-License-Identifier: Apache-2.0
// test: address optimised
#include <reduction/instructions.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/bitwise.hpp>
#include <tutti/reduction/logical.hpp>
#include <tutti/reduction/saturating_sum.hpp>

#include <cstdint>
#include <tuple>

namespace {

using arithmetic = instructions::arithmetic_of<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                                               std::uint32_t, std::int64_t, std::uint64_t>;

BOOST_AUTO_TEST_CASE_TEMPLATE(every_instruction_set_gives_the_same_bits, R, arithmetic) {
  instructions::check(R{});
}

using sizes = std::tuple<std::uint8_t, std::int64_t>;

BOOST_AUTO_TEST_CASE_TEMPLATE(bitwise_and_logical, T, sizes) {
  instructions::check(tutti::bit_and<T>{});
  instructions::check(tutti::bit_xor<T>{});
  instructions::check(tutti::logical_and<T>{});
  instructions::check(tutti::logical_or<T>{});
}

BOOST_AUTO_TEST_CASE(saturating) {
  instructions::check(tutti::saturating_sum<std::int32_t>{});
}

BOOST_AUTO_TEST_CASE(streamed) {
  instructions::check_streamed(tutti::bit_xor<std::uint8_t>{});
}

}  // namespace
