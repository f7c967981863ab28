// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/bootstrap/node_list.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace {

std::optional<std::string> first(std::string_view text, std::size_t limit = 1000) {
  return tutti::detail::first_node(text, limit);
}

BOOST_AUTO_TEST_CASE(a_name_without_brackets_is_itself) {
  BOOST_TEST((first("alone") == "alone"));
  BOOST_TEST((first("a1,b-2,c.d") == "a1"));
  BOOST_TEST((first("a.b-c,d") == "a.b-c"));
}

BOOST_AUTO_TEST_CASE(the_first_number_is_as_wide_as_it_is_written) {
  BOOST_TEST((first("node[01-03,7],x9") == "node01"));
  BOOST_TEST((first("n[8-11]") == "n8"));
  BOOST_TEST((first("n[098-101]s") == "n098s"));
  BOOST_TEST((first("n[7,1-3]") == "n7"));
}

BOOST_AUTO_TEST_CASE(several_brackets_give_their_first_numbers) {
  BOOST_TEST((first("r[1-2]n[0-1],z") == "r1n0"));
}

BOOST_AUTO_TEST_CASE(what_is_no_list_is_refused) {
  for (std::string_view const text :
       {"", ",", "a,", ",a", "a[", "a]", "a[]", "a[1", "a[1-]", "a[-1]", "a[2-1]", "a[x]", "a[1,]", "a[1,,2]", "a[[1]]",
        "a b", "a[1234567890]", "a[0-99999999999999999999]", "a,b[2-1]"}) {
    BOOST_TEST(!first(text).has_value(), "\"" << text << "\" was taken for a list");
  }
}

BOOST_AUTO_TEST_CASE(a_list_of_too_many_is_refused) {
  BOOST_TEST(first("n[1-10]", 10).has_value());
  BOOST_TEST(!first("n[1-11]", 10).has_value());
  BOOST_TEST(!first("n[1-4]m[1-4]", 10).has_value());
  BOOST_TEST(!first("a[1-6],b[1-6]", 10).has_value());
  BOOST_TEST(first("a[1-4],b[1-6]", 10).has_value());
  BOOST_TEST(!first("n[0-999999999]").has_value());
}

BOOST_AUTO_TEST_CASE(a_list_costs_what_its_text_does_and_not_what_it_stands_for) {
  std::string text = "n";
  std::string wide = "w[0";
  for (int i = 0; i < 100; ++i) {
    text += "[0-999999999]";  // 10^900 names
    wide += ",0-999999999";
  }
  BOOST_TEST(!first(text, 1U << 16U).has_value());
  BOOST_TEST(!first(wide + "]", 1U << 16U).has_value());
}

}  // namespace
