// SPDX-License-Identifier: Apache-2.0
// test: plain
#include "../../bench/common/record.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

BOOST_AUTO_TEST_CASE(strings_are_quoted_as_json_wants) {
  BOOST_TEST(bench::quote("plain") == "\"plain\"");
  BOOST_TEST(bench::quote("a\"b\\c\n") == "\"a\\\"b\\\\c\\u000a\"");
}

BOOST_AUTO_TEST_CASE(a_record_is_one_line) {
  bench::record const r{
      .rank = 3, .iterations = 7, .writing = {1, 2, {3, 4}}, .loop = {5, 6, {7, 8}}, .operation_time = 9};
  BOOST_TEST(bench::to_json(r) ==
             "{\"rank\": 3, \"iterations\": 7, \"writing_begin\": 1, \"writing_end\": 2, \"writing_processor\": 3, "
             "\"writing_switches\": 4, \"loop_begin\": 5, \"loop_end\": 6, \"loop_processor\": 7, "
             "\"loop_switches\": 8, \"alone\": 9}\n");
  bench::record timed_record = r;
  timed_record.messages = 10;
  BOOST_TEST(bench::to_json(timed_record).ends_with(", \"messages\": 10}\n"));
  BOOST_TEST(bench::to_json({.rank = 1, .error = "a \"b\""}) == "{\"rank\": 1, \"error\": \"a \\\"b\\\"\"}\n");
}
