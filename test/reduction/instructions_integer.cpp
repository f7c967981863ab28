// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE reduction_instructions_integer
#include <reduction/instructions.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/bitwise.hpp>
#include <tutti/reduction/logical.hpp>

#include <cstdint>
#include <tuple>

namespace {

using types = std::tuple<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                         std::int64_t, std::uint64_t>;

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

using sizes = std::tuple<std::uint8_t, std::int64_t>;

BOOST_AUTO_TEST_CASE_TEMPLATE(bitwise_and_logical, T, sizes) {
  instructions::check(tutti::bit_and<T>{});
  instructions::check(tutti::bit_xor<T>{});
  instructions::check(tutti::logical_and<T>{});
  instructions::check(tutti::logical_or<T>{});
}

BOOST_AUTO_TEST_CASE(streamed) {
  instructions::check_streamed(tutti::bit_xor<std::uint8_t>{});
}

}  // namespace
