// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/topology.hpp>

#include <vector>

namespace tutti::inline v0_1_0::detail::inline engine {

/// What the engine needs to know of a helper's schedule.
struct helper_summary {
  std::vector<helper_worker> workers{};  ///< in the order in which the helper takes from them, or first gives them
  block_range blocks{};                  ///< that each that gives gives, and each that gets gets
  memory from = memory::input;

  /// Reads it from the schedule. Allocates nothing if there has been room for as many workers before.
  /// @pre the helper takes one message at most from each rank, and gives each one at most, all of the same blocks
  template <class Topology, class Op>
    requires has_helpers<Topology, Op>
  void read(Topology const& t, Op const& op, rank_type n, rank_type helper) {
    fill(workers, places_, t, op, n, helper);
  }

  /// The place of a rank among the workers, or no_rank.
  [[nodiscard]] rank_type place_of(rank_type r) const noexcept { return r < places_.size() ? places_[r] : no_rank; }

 private:
  /// Given the vector, and so compiled only where there are helpers.
  template <class Workers, class Places, class Topology, class Op>
  void fill(Workers& all, Places& places, Topology const& t, Op const& op, rank_type n, rank_type helper) {
    auto const worker = [&](rank_type r) -> helper_worker& {
      if (places[r] == no_rank) {
        places[r] = static_cast<rank_type>(all.size());
        all.emplace_back(helper_worker{.rank = r});
      }
      return all[places[r]];
    };
    all.clear();
    places.assign(n, no_rank);
    for (std::uint32_t i = 0; i != t.steps(op, n, helper); ++i) {
      const step s = t.at(op, n, helper, i);
      if (s.receives()) {
        blocks = s.receive.blocks;
        from = s.arrives;
        worker(s.receive.peer).gives = true;
      }
      if (s.sends()) {
        worker(s.send.peer).gets = true;
      }
    }
  }

  std::vector<rank_type> places_{};  ///< of each rank
};

/// The same, as one rank sees it.
struct helper_share {
  helper_summary const* of;
  rank_type mine;  ///< the place of the rank among the workers, or no_rank
};

/// What one rank does with all helpers of an operation.
struct helper_shares {
  std::vector<helper_summary> summaries{};
  std::vector<helper_share> shares{};

  template <class Topology, class Op>
  void read(Topology const& t, Op const& op, rank_type n, rank_type me) {
    summaries.resize(members(t, op, n) - n);
    fill(summaries, shares, t, op, n, me);
  }

 private:
  template <class Summaries, class Shares, class Topology, class Op>
  static void fill(Summaries& all, Shares& mine, Topology const& t, Op const& op, rank_type n, rank_type me) {
    mine.clear();
    for (std::size_t i = 0; i != all.size(); ++i) {
      all[i].read(t, op, n, n + static_cast<rank_type>(i));
      mine.push_back({&all[i], all[i].place_of(me)});
    }
  }
};

}  // namespace tutti::detail::engine
