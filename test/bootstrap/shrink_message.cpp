// SPDX-License-Identifier: Apache-2.0
// test: address thread
#define BOOST_TEST_MODULE bootstrap_shrink_message
#include <tutti/detail/bootstrap/shrink_message.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_CASE(messages_travel_and_nothing_else_is_one) {
  tutti::detail::shrink_message const sent{"a world", 3, {0, 3, 70'000}};
  std::string const text = sent.text();
  tutti::detail::shrink_message got;
  BOOST_REQUIRE(got.parse(text));
  BOOST_TEST(got.world == sent.world);
  BOOST_TEST(got.rank == sent.rank);
  BOOST_TEST(got.members == sent.members);
  BOOST_TEST(tutti::detail::contains(got.members, 70'000));
  BOOST_TEST(!tutti::detail::contains(got.members, 1));
  for (std::size_t less = 0; less != text.size(); ++less) {
    BOOST_TEST(!got.parse(std::string_view(text).substr(0, less)));
  }
  BOOST_TEST(!got.parse(text + "x"));
}
