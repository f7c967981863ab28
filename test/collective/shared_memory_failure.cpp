// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_shared_memory_failure
#include <laws/failure.hpp>
#include <tutti/transport/shared_memory.hpp>

using tutti::shared_memory;

BOOST_AUTO_TEST_CASE(a_rank_that_leaves) {
  laws::a_rank_that_leaves_is_named<shared_memory>(tutti::ring{}, 4, 2, 1);
  laws::a_rank_that_leaves_is_named<shared_memory>(tutti::ring{}, 4, 0, 100'000);
  laws::a_rank_that_leaves_is_named<shared_memory>(tutti::binary_tree{}, 5, 4, 1000);
  laws::a_rank_that_leaves_is_named<shared_memory>(tutti::doubling{}, 3, 1, 100'000);
}

BOOST_AUTO_TEST_CASE(a_late_rank) {
  laws::a_late_rank_is_named<shared_memory>(3, 1);
}

BOOST_AUTO_TEST_CASE(different_calls) {
  laws::every_difference_is_found<shared_memory>();
}

BOOST_AUTO_TEST_CASE(different_groupings) {
  laws::a_different_grouping_is_found<shared_memory>();
}

BOOST_AUTO_TEST_CASE(different_roots) {
  laws::a_different_root_is_found<shared_memory>();
}

BOOST_AUTO_TEST_CASE(different_messages) {
  laws::a_different_message_is_found<shared_memory>();
}

BOOST_AUTO_TEST_CASE(a_dropped_request) {
  laws::a_dropped_request_is_named<shared_memory>();
}

BOOST_AUTO_TEST_CASE(a_failed_epoch) {
  laws::a_failed_epoch_stays_failed<shared_memory>();
}

BOOST_AUTO_TEST_CASE(a_killed_process) {
  laws::a_killed_process_is_named<shared_memory>(tutti::ring{}, 4, 2, 300'000);
  laws::a_killed_process_is_named<shared_memory>(tutti::binary_tree{}, 4, 0, 100);
}
