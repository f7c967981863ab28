// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/failure.hpp>
#include <support/cases.hpp>

namespace laws {

/// The test cases of what goes wrong in worlds of one transport.
template <class Transport>
struct failures {
  static support::cases all() {
    return {{"a_rank_that_leaves", a_rank_that_leaves},
            {"a_late_rank", [] { a_late_rank_is_named<Transport>(3, 1); }},
            {"different_calls", every_difference_is_found<Transport>},
            {"different_groupings", a_different_grouping_is_found<Transport>},
            {"different_choices", a_different_choice_is_found<Transport>},
            {"different_roots", a_different_root_is_found<Transport>},
            {"different_messages", a_different_message_is_found<Transport>},
            {"a_dropped_request", a_dropped_request_is_named<Transport>},
            {"a_failed_epoch", a_failed_epoch_stays_failed<Transport>}};
  }
  /// Ranks that are processes can also be killed.
  static support::cases of_processes() { return {{"a_killed_process", a_killed_process}}; }

  static void a_rank_that_leaves() {
    a_rank_that_leaves_is_named<Transport>(tutti::ring{}, 4, 2, 1);
    a_rank_that_leaves_is_named<Transport>(tutti::ring{}, 4, 0, 100'000);
    a_rank_that_leaves_is_named<Transport>(tutti::ring{}, 4, 0, 300'000);
    a_rank_that_leaves_is_named<Transport>(tutti::binary_tree{}, 5, 4, 1000);
    a_rank_that_leaves_is_named<Transport>(tutti::doubling{}, 3, 1, 100'000);
  }
  static void a_killed_process() {
    a_killed_process_is_named<Transport>(tutti::ring{}, 4, 2, 300'000);
    a_killed_process_is_named<Transport>(tutti::binary_tree{}, 4, 0, 100);
  }
};

}  // namespace laws
