// SPDX-License-Identifier: Apache-2.0
// test: plain (texts)
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/expects.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

namespace {

using namespace tutti::detail;

template <class F>
std::string refusal(F const& f) {
  try {
    f();
  } catch (tutti::precondition_error const& e) {
    return e.what();
  }
  return "";
}

BOOST_AUTO_TEST_CASE(a_root_below_the_size_is_fine) {
  BOOST_TEST(refusal([] { expect_root("reduce", 3, 4); }) == "");
  BOOST_TEST(refusal([] { expect_root("reduce", 4, 4); }) ==
             "reduce: the root must be a rank of this communicator, below 4, not 4");
}

BOOST_AUTO_TEST_CASE(a_peer_is_another_rank) {
  BOOST_TEST(refusal([] { expect_peer("send: the receiver", 1, 0, 2); }) == "");
  BOOST_TEST(refusal([] { expect_peer("send: the receiver", 0, 0, 2); }) ==
             "send: the receiver must be another rank of this communicator than this one, 0, and below 2, not 0");
  BOOST_TEST(refusal([] { expect_peer("send: the receiver", 7, 0, 2); }).ends_with("below 2, not 7"));
}

BOOST_AUTO_TEST_CASE(lengths_are_said_with_what_they_must_be) {
  BOOST_TEST(refusal([] { expect_size("allreduce: the output, like the input,", 8, 8); }) == "");
  BOOST_TEST(refusal([] { expect_size("allreduce: the output, like the input,", 12, 8); }) ==
             "allreduce: the output, like the input, must have 8 elements, not 12");
}

}  // namespace
