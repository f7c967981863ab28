// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <string_view>

namespace tutti::inline v0_1_0 {

/// The result of `verify`. True if the schedule is correct and keeps the declarations of its topology; otherwise
/// `reason` is the first violation.
struct verdict {
  bool finishes = true;          ///< the schedule finishes with buffers of any size, none included
  bool ends_match = true;        ///< both ends of every message agree, and every message has both
  bool exact = true;             ///< every rank gets all of its result, every contribution once
  bool keeps_rank_order = true;  ///< reductions combine in rank order
  bool raw = true;               ///< only contributions are sent to be combined, no partial sums
  bool has_no_write_after_read =
      true;                   ///< no write can overtake a peer that reads in place (a write-after-read hazard)
  bool self_overlap = false;  ///< some step receives into the blocks that it sends, so the send needs a snapshot

  std::string_view reason{};  ///< first violation; empty: none
  rank_type rank = no_rank;   ///< rank whose schedule shows it; no_rank: no single one
  std::uint32_t step = 0;     ///< step of that rank

  /// True if there is no violation.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return reason.empty(); }
  friend constexpr bool operator==(verdict const&, verdict const&) = default;

  /// The verdict on two schedules together, with the first violation of either.
  [[nodiscard]] friend constexpr verdict combine(verdict const& a, verdict const& b) {
    verdict result = a ? b : a;
    result.keeps_rank_order = a.keeps_rank_order && b.keeps_rank_order;
    result.raw = a.raw && b.raw;
    result.has_no_write_after_read = a.has_no_write_after_read && b.has_no_write_after_read;
    result.self_overlap = a.self_overlap || b.self_overlap;
    return result;
  }
};

}  // namespace tutti
