// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/shrink_message.hpp>
#include <tutti/detail/bootstrap/survivors.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <string>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// One member's part in finding the others again when some are gone: a listener that it keeps from the
/// beginning, and the addresses of all others'. A listener closes with its owner, however that ends, so the system
/// itself tells which are gone. Members go by the numbers that they had in the beginning. Used by one thread at a time.
///
/// The lowest that is left is the host: each tries the listeners of those below it, from the lowest on, and takes one
/// that does not answer for gone. If a host goes in its turn its guests go on to the next listener. The host waits for
/// all others that are not gone, and decides.
///
/// Law: no two groups go on from one world. A member that neither comes nor is known to be gone is *silent*: it may be
/// cut off, and have gone on elsewhere. A group goes on if it is more than the silent ones, or as many and has the
/// lowest number of both. (A quorum: Gifford, "Weighted voting for replicated data", SOSP 1979; what is known to be
/// dead has no vote.) Before it goes on, the silent ones are left a notice, at their own listeners: one that wakes when
/// the group has ended, and finds all listeners closed, finds the notice, too. So the law holds unless the system of a
/// silent member cannot be reached when the group decides.
class shrink_meeting {
 public:
  /// @param places where every member's listener is, by rank; `listener` listens at this one's
  /// @param world what no other program knows, the same for all
  shrink_meeting(rank_type rank, descriptor listener, std::vector<net::address> places, std::string world);

  /// Which are still in, by the numbers of the beginning.
  [[nodiscard]] std::vector<rank_type> const& members() const noexcept { return mine_.members; }

  /// Finds the others. Collective over those that are left, which are numbered anew from 0 on by the rendezvous, in the
  /// order that they had. Those that are not in it will not be waited for again.
  ///
  /// It takes as long as the last to come, and at most `patience` for that and once more for each host that is silent.
  /// @throws error(failure::join) if too many are silent, or the others went on without this rank; then also each time
  ///         that it is called again
  [[nodiscard]] survivors meet(duration patience);

 private:
  [[noreturn]] void stay_out();
  channel visit(rank_type at, duration patience, std::vector<rank_type>& silent, std::vector<rank_type>& chosen);

  shrink_message mine_;  ///< which rank this is, and which are in
  descriptor listener_;
  std::vector<net::address> places_;
  bool is_left_out_ = false;  ///< others went on without this one: it stays out
};

/// A listener for a shrink meeting, before the others are known.
class shrink_listener {
 public:
  /// @param host the number by which the others reach this host
  /// @throws error(failure::join) if it cannot listen there
  explicit shrink_listener(std::string const& host);

  /// What the others have to know of this one.
  [[nodiscard]] std::string card() const;

  /// The meeting of those whose cards these are, by rank.
  /// @pre called once
  [[nodiscard]] shrink_meeting meeting(rank_type rank, std::vector<std::string> const& cards);

 private:
  net::address own_;
  descriptor socket_;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/shrink_meeting.ipp>
#endif
