// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip one_compiler (what it needs is in a guest)
//
// Operators with faults: ranks that leave, are killed or late, or make different calls.
#include <laws/failure.hpp>
#include <laws/late.hpp>
#include <support/rdma_device.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/verbs/verbs.hpp>

namespace {

using tutti::binary_tree;
using tutti::ring;
using tutti::verbs;

BOOST_AUTO_TEST_CASE(a_rank_that_leaves) {
  laws::a_rank_that_leaves_is_named<verbs>(ring{}, 4, 2, 1);
  laws::a_rank_that_leaves_is_named<verbs>(ring{}, 4, 0, 100'000);
  laws::a_rank_that_leaves_is_named<verbs>(binary_tree{}, 5, 4, 1000);
}
BOOST_AUTO_TEST_CASE(a_dropped_request) {
  laws::a_dropped_request_is_named<verbs>();
}
BOOST_AUTO_TEST_CASE(a_failed_epoch) {
  laws::a_failed_epoch_stays_failed<verbs>();
}
BOOST_AUTO_TEST_CASE(a_killed_process) {
  laws::a_killed_process_is_named<verbs>(ring{}, 4, 2, 100'000);
  laws::a_killed_process_is_named<verbs>(binary_tree{}, 4, 0, 100);
}
BOOST_AUTO_TEST_CASE(different_calls) {
  laws::every_difference_is_found<verbs>();
  laws::a_different_grouping_is_found<verbs>();
  laws::a_different_choice_is_found<verbs>();
  laws::a_different_root_is_found<verbs>();
  laws::a_different_message_is_found<verbs>();
}
BOOST_AUTO_TEST_CASE(late_ranks) {
  BOOST_TEST(laws::a_late_rank<verbs>(ring{}, 4, 2, 1000) == "");
  BOOST_TEST(laws::a_turn_behind_a_late_rank<verbs>(binary_tree{}, 4, 2) == "");
  BOOST_TEST(laws::ranks_that_wait_for_each_other<verbs>(4, 2) == "");
  BOOST_TEST(laws::a_stopped_rank<verbs>(ring{}, 4, 3, 1000, {}) == "");
}

}  // namespace
