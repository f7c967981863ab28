// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/bootstrap/node_list.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>

namespace {

using names = std::vector<std::string>;

std::optional<names> parsed(std::string_view text, std::size_t most = 1000) {
  names out;
  return tutti::detail::parse_node_list(text, out, most) ? std::optional(out) : std::nullopt;
}

BOOST_AUTO_TEST_CASE(names_without_brackets_are_themselves) {
  BOOST_TEST((parsed("alone") == names{"alone"}));
  BOOST_TEST((parsed("a1,b-2,c.d") == names{"a1", "b-2", "c.d"}));
}

BOOST_AUTO_TEST_CASE(ranges_are_written_out_as_wide_as_they_begin) {
  BOOST_TEST((parsed("node[01-03,7],x9") == names{"node01", "node02", "node03", "node7", "x9"}));
  BOOST_TEST((parsed("n[8-11]") == names{"n8", "n9", "n10", "n11"}));
  BOOST_TEST((parsed("n[098-101]s") == names{"n098s", "n099s", "n100s", "n101s"}));
}

BOOST_AUTO_TEST_CASE(several_brackets_are_every_combination) {
  BOOST_TEST((parsed("r[1-2]n[0-1]") == names{"r1n0", "r2n0", "r1n1", "r2n1"}));
}

BOOST_AUTO_TEST_CASE(what_is_no_list_is_refused) {
  for (std::string_view const text :
       {"", ",", "a,", "a[", "a]", "a[]", "a[1", "a[1-]", "a[-1]", "a[2-1]", "a[x]", "a[1,]", "a b", "a[1234567890]"}) {
    BOOST_TEST(!parsed(text).has_value(), "\"" << text << "\" was taken for a list");
  }
}

BOOST_AUTO_TEST_CASE(a_list_of_too_many_is_refused_before_it_is_written) {
  BOOST_TEST(parsed("n[1-10]", 10).has_value());
  BOOST_TEST(!parsed("n[1-11]", 10).has_value());
  BOOST_TEST(!parsed("n[1-4]m[1-4]", 10).has_value());
  BOOST_TEST(!parsed("a[1-6],b[1-6]", 10).has_value());
  BOOST_TEST(!parsed("n[0-999999999]").has_value());
}

}  // namespace
