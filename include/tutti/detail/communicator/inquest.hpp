// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/communicator/any_transport.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/time.hpp>

namespace tutti::inline v0_1_0::detail::inline communicator {

struct rank_state;

/// Finds out what a late operation is late for: asks the rank that it waits for what that one waits for, and so on. The
/// chain ends with a rank that does not answer, because it is stopped, computes or never calls; or it comes back
/// to itself, and its ranks wait for each other in a circle.
///
/// A rank that answers is never named: if it does not know what it waits for, no rank is.
///
/// A rank answers while it waits: nothing else shows that what it has said is not an old story. A circle is asked
/// twice, with time for a message in between: one may be under way.
///
/// Takes as long as one rank has to answer, and some hundredths of a second for each that does. `advance` never waits.
class inquest {
 public:
  /// What a rank that waits has to answer: it gets its turn meanwhile even where many share a core.
  static constexpr duration patience = std::chrono::seconds(1);
  /// What it has to say everything that it waits for.
  static constexpr duration settling = std::chrono::milliseconds(50);
  /// Ranks that move on all the time are not late: then no rank is found.
  static constexpr duration longest = 4 * patience;

  /// An operation of this rank is late that is on flow `on`.
  /// @pre the transport answers
  TUTTI_DECL inquest(rank_state const& here, flow on);
  TUTTI_DECL ~inquest();

  /// True when it is over, and `found` says what has come of it.
  [[nodiscard]] TUTTI_DECL bool advance();

  [[nodiscard]] tutti::fault const& found() const noexcept { return found_; }

 private:
  struct waiting_rank {
    TUTTI_DECL ~waiting_rank();

    rank_type rank;
    wait_report said;
    owned<waiting_rank> before;  ///< the one that waits for it
  };

  TUTTI_DECL void turn_to(rank_type suspect, flow on);
  [[nodiscard]] TUTTI_DECL wait_report standing(rank_type rank) const;
  TUTTI_DECL void follow(wait_report const& answer);
  TUTTI_DECL void close(rank_type first);

  rank_type rank_;
  rank_type size_;
  any_transport transport_;
  tutti::fault found_;
  owned<waiting_rank> chain_;   ///< the last one: from this rank on, each waits for the next
  owned<waiting_rank> circle_;  ///< the last one of a chain that has been found to be a circle once
  flow on_;
  flow wanted_{};       ///< on which the last one of the chain is waited for
  bool asked_ = false;  ///< that one
  time_point since_{};  ///< its turn began
  time_point begun_;
  time_point not_before_;
};

}  // namespace tutti::detail::communicator

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/communicator/inquest.ipp>
#endif
