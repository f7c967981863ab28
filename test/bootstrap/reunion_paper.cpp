// SPDX-License-Identifier: Apache-2.0
// test: address thread
#define BOOST_TEST_MODULE bootstrap_reunion_paper
#include <tutti/detail/bootstrap/reunion_paper.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_CASE(papers_travel_and_nothing_else_is_one) {
  tutti::detail::reunion_paper const sent{"a world", 3, {0, 3, 70'000}};
  std::string const text = sent.text();
  tutti::detail::reunion_paper got;
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
