// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/topology.hpp>

#include <vector>

namespace tutti::inline v0_1_0::detail::verify {

/// The first rank that never finishes, and its step; rank no_rank if all ranks finish.
struct stall {
  rank_type rank = no_rank;
  std::uint32_t step = 0;
};

/// Runs the schedule without buffers (rendezvous): a send completes when its receiver takes the message. A schedule
/// that finishes without buffers finishes with buffers of any size, because buffers only let sends complete earlier.
/// @pre every peer is a rank or an aggregator
template <class Topology, class Op>
class buffering {
 public:
  constexpr buffering(Topology const& topology, Op const& op, rank_type n)
      : topology_(topology), op_(op), n_(n), members_(members(topology, op, n)), ranks_(members_) {
    for (rank_type r = 0; r < members_; ++r) {
      enter(r);
    }
  }

  [[nodiscard]] constexpr stall run() {
    for (rank_type r = 0; r < members_; ++r) {
      awake_.push_back(r);
    }
    while (!awake_.empty()) {
      const rank_type r = awake_.back();
      awake_.pop_back();
      while (advance(r)) {
      }
    }
    for (rank_type r = 0; r < members_; ++r) {
      if (!ranks_[r].is_finished) {
        return {r, ranks_[r].at};
      }
    }
    return {};
  }

 private:
  struct state {
    step current{};
    std::uint32_t at = 0;
    std::uint32_t steps = 0;
    bool is_sending = false;
    bool is_receiving = false;
    bool is_finished = false;
  };

  constexpr void enter(rank_type r) {
    state& s = ranks_[r];
    s.steps = topology_.steps(op_, n_, r);
    s.is_finished = s.at == s.steps;
    s.current = s.is_finished ? step{} : topology_.at(op_, n_, r, s.at);
    s.is_sending = s.current.sends();
    s.is_receiving = s.current.receives();
  }

  /// Completes the sends and receives of the current step that can complete. True if the rank entered its next step.
  constexpr bool advance(rank_type r) {
    state& me = ranks_[r];
    if (me.is_finished) {
      return false;
    }
    if (me.is_sending) {
      state& peer = ranks_[me.current.send.peer];
      if (peer.is_receiving && peer.current.receive.peer == r) {
        me.is_sending = peer.is_receiving = false;
        awake_.push_back(me.current.send.peer);
      }
    }
    if (me.is_receiving) {
      state& peer = ranks_[me.current.receive.peer];
      if (peer.is_sending && peer.current.send.peer == r) {
        me.is_receiving = peer.is_sending = false;
        awake_.push_back(me.current.receive.peer);
      }
    }
    if (me.is_sending || me.is_receiving) {
      return false;
    }
    ++me.at;
    enter(r);
    return true;
  }

  Topology const& topology_;
  Op op_;
  rank_type n_;
  rank_type members_;  ///< ranks and aggregators
  std::vector<state> ranks_;
  std::vector<rank_type> awake_{};
};

}  // namespace tutti::detail::verify
