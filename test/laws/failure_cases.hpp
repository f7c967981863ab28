// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/failure.hpp>
#include <laws/late.hpp>
#include <support/cases.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/chain.hpp>
#include <tutti/topology/double_tree.hpp>
#include <tutti/topology/star.hpp>

namespace laws {

/// The test cases of what goes wrong in worlds of one transport.
template <class Transport>
struct failures {
  static support::cases all() {
    return {{"a_rank_that_leaves", a_rank_that_leaves},
            {"late_ranks", late_ranks},
            {"turns", turns},
            {"a_circle", a_circle},
            {"different_calls", every_difference_is_found<Transport>},
            {"different_groupings", a_different_grouping_is_found<Transport>},
            {"different_choices", a_different_choice_is_found<Transport>},
            {"different_roots", a_different_root_is_found<Transport>},
            {"different_messages", a_different_message_is_found<Transport>},
            {"a_dropped_request", a_dropped_request_is_named<Transport>},
            {"a_failed_epoch", a_failed_epoch_stays_failed<Transport>}};
  }
  /// Ranks that are processes can also be killed.
  static support::cases of_processes() {
    return {{"a_killed_process", a_killed_process}, {"stopped_processes", stopped_processes}};
  }
  /// And processes that read each other's memory can be stopped meanwhile.
  static support::cases of_readers() { return {{"a_stopped_reader", a_stopped_reader}}; }

  static void a_rank_that_leaves() {
    a_rank_that_leaves_is_named<Transport>(tutti::ring{}, 4, 2, 1);
    a_rank_that_leaves_is_named<Transport>(tutti::ring{}, 4, 0, 100'000);
    a_rank_that_leaves_is_named<Transport>(tutti::ring{}, 4, 0, 300'000);
    a_rank_that_leaves_is_named<Transport>(tutti::binary_tree{}, 5, 4, 1000);
    a_rank_that_leaves_is_named<Transport>(tutti::doubling{}, 3, 1, 100'000);
  }
  /// Whatever the way from the late rank to the others.
  static void late_ranks() {
    BOOST_TEST(a_late_rank<Transport>(tutti::doubling{}, 3, 1, 1) == "");
    BOOST_TEST(a_late_rank<Transport>(tutti::ring{}, 8, 5, 1000) == "");
    BOOST_TEST(a_late_rank<Transport>(tutti::binary_tree{}, 7, 6, 100'000) == "");
    BOOST_TEST(a_late_rank<Transport>(tutti::star{}, 5, 0, 1000) == "");
    BOOST_TEST(a_late_rank<Transport>(tutti::chain{}, 6, 3, 1000) == "");
  }
  static void turns() {
    BOOST_TEST(a_turn_behind_a_late_rank<Transport>(tutti::ring{}, 2, 1) == "");
    BOOST_TEST(a_turn_behind_a_late_rank<Transport>(tutti::binary_tree{}, 4, 2) == "");
  }
  static void a_circle() {
    BOOST_TEST(ranks_that_wait_for_each_other<Transport>(4, 2) == "");
    BOOST_TEST(ranks_that_wait_for_each_other<Transport>(3, 3) == "");
  }
  static void stopped_processes() {
    BOOST_TEST(a_stopped_rank<Transport>(tutti::ring{}, 5, 3, 1000, {}) == "");
    BOOST_TEST(a_stopped_rank<Transport>(tutti::butterfly{}, 4, 0, 30'000, {}) == "");
    BOOST_TEST(a_stopped_rank<Transport>(tutti::double_tree{}, 8, 6, 1, {}) == "");
  }
  static void a_stopped_reader() {
    BOOST_TEST(a_rank_stopped_while_it_reads<Transport>(2, 1) == "");
    BOOST_TEST(a_rank_stopped_while_it_reads<Transport>(4, 2) == "");
  }
  static void a_killed_process() {
    a_killed_process_is_named<Transport>(tutti::ring{}, 4, 2, 300'000);
    a_killed_process_is_named<Transport>(tutti::binary_tree{}, 4, 0, 100);
  }
};

}  // namespace laws
