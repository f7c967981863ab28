// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <string_view>

namespace tutti::inline v0_1_0 {

/// The result of `verify`. True if the schedule is right and keeps what its topology declares; otherwise `reason` says
/// what is wrong first.
struct verdict {
  bool finishes = true;       ///< with buffers of any size, none included
  bool matched = true;        ///< both ends of every message agree, and every message has both
  bool exact = true;          ///< every rank gets all of its result, every contribution once
  bool ordered = true;        ///< reductions combine in rank order
  bool raw = true;            ///< only contributions travel to be combined, no partial sums
  bool war_free = true;       ///< no write can overtake a peer that reads in place
  bool self_overlap = false;  ///< some step receives into what it sends, so the send needs a snapshot

  std::string_view reason{};  ///< the first thing that is wrong; empty: nothing is
  rank_type rank = no_rank;   ///< the rank whose schedule shows it, if one does
  std::uint32_t step = 0;     ///< its step there

  /// True if nothing is wrong.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return reason.empty(); }
  friend constexpr bool operator==(verdict const&, verdict const&) = default;

  /// The verdict on two schedules: what holds for both, or what is wrong with the first that is wrong.
  [[nodiscard]] friend constexpr verdict both(verdict const& a, verdict const& b) {
    verdict all = a ? b : a;
    all.ordered = a.ordered && b.ordered;
    all.raw = a.raw && b.raw;
    all.war_free = a.war_free && b.war_free;
    all.self_overlap = a.self_overlap || b.self_overlap;
    return all;
  }
};

}  // namespace tutti
