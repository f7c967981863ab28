// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/detail/core/flow_numbers.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using namespace tutti;
using namespace tutti::detail;

BOOST_AUTO_TEST_CASE(streams_follow_each_other_on_a_lane_and_lanes_do_not_wait) {
  flow_numbers numbers;
  BOOST_TEST(numbers.reserve(3) == 0U);
  BOOST_TEST(numbers.reserve(2 * collective_lanes) == 3U);
  for (std::uint64_t n = 0; n != collective_lanes; ++n) {
    BOOST_TEST(flow_numbers::flow_of(n).lane == n);
    BOOST_TEST(numbers.may_begin(n));
    BOOST_TEST(!numbers.may_begin(n + collective_lanes));
  }
  numbers.end(5);
  for (std::uint64_t n = collective_lanes; n != 2 * collective_lanes; ++n) {
    BOOST_TEST(numbers.may_begin(n) == (n == collective_lanes + 5));
  }
  BOOST_TEST(flow_numbers::flow_of(collective_lanes + 5).lane == 5U);
}

BOOST_AUTO_TEST_CASE(messages_of_each_peer_follow_each_other) {
  transfer_numbers numbers(2);
  BOOST_TEST(numbers.reserve(1) == 0U);
  BOOST_TEST(numbers.reserve(1) == 1U);
  BOOST_TEST(numbers.reserve(0) == 0U);
  BOOST_TEST(!numbers.may_begin(1, 1));
  numbers.end(0);
  BOOST_TEST(!numbers.may_begin(1, 1));
  numbers.end(1);
  BOOST_TEST(numbers.may_begin(1, 1));
}

}  // namespace
