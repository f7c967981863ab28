// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/communicator/any_transport.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/time.hpp>

namespace tutti::inline v0_1_0::detail::inline communicator {

struct rank_state;

/// Finds the rank that holds up a late operation, by following the wait-for chain: asks each rank which rank it waits
/// for. The chain ends with a straggler, which does not answer because it is stopped, computes or makes no calls; or it
/// returns to one of its ranks, and those are deadlocked.
///
/// A rank that answers is not named: if it does not know which rank it waits for, none is. One exception: in a circle
/// with a rank whose number has no bit in a fault, the first rank is.
///
/// Only a waiting rank answers, so an answer that arrives now describes its current wait. A circle is asked twice, with
/// time in between for a message that may be under way.
///
/// Takes `patience` if a rank does not answer, and some hundredths of a second for each that does. `advance` never
/// waits.
class straggler_search {
 public:
  /// Time for a waiting rank to answer, enough for its turn on an oversubscribed core.
  static constexpr duration patience = std::chrono::seconds(1);
  /// Time for a rank to report all of its waits.
  static constexpr duration settling = std::chrono::milliseconds(50);
  /// Limit of the whole search: ranks that make progress all the time are no stragglers, and none is found.
  static constexpr duration longest = 4 * patience;

  /// Begins the search for a late operation of this rank on flow `late_flow`.
  /// @pre the transport `reports_waits`
  TUTTI_DECL straggler_search(rank_state const& state, flow late_flow);
  TUTTI_DECL ~straggler_search();

  /// Continues the search; true when it is over and `result` has the answer.
  [[nodiscard]] TUTTI_DECL bool advance();

  [[nodiscard]] tutti::fault const& result() const noexcept { return result_; }

 private:
  struct waiting_rank {
    TUTTI_DECL ~waiting_rank();

    rank_type rank;
    wait_report report;
    owner<waiting_rank> waiter;  ///< the rank that waits for this one
  };

  TUTTI_DECL void turn_to(rank_type suspect, flow awaited_flow);
  [[nodiscard]] TUTTI_DECL wait_report current_wait(rank_type rank) const;
  TUTTI_DECL void follow(wait_report const& answer);
  TUTTI_DECL void close(rank_type first);

  rank_type rank_;
  rank_type size_;
  any_transport transport_;
  tutti::fault result_;
  owner<waiting_rank> chain_;   ///< the last rank; each earlier one waits for the next
  owner<waiting_rank> circle_;  ///< the last rank of a circle that was found once
  flow late_flow_;
  flow awaited_flow_{};         ///< flow on which the last rank is awaited
  bool has_asked_ = false;      ///< the last rank has been asked
  time_point suspect_begin_{};  ///< time at which the search turned to the last rank
  time_point begin_;
  time_point next_attempt_;
};

}  // namespace tutti::detail::communicator

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/communicator/straggler_search.ipp>
#endif
