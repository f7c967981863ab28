// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/topology.hpp>

#include <vector>

namespace tutti::inline v0_1_0::detail::verify {

/// The first rank that never comes to its end, and at which step; rank no_rank if all do.
struct stuck {
  rank_type rank = no_rank;
  std::uint32_t step = 0;
};

/// Runs the schedule with no buffers at all: a send is over when its receiver takes it. A schedule that
/// ends like this ends with buffers of any size, because buffers only let steps end earlier.
/// @pre every peer is a rank or a helper
template <class Topology, class Op>
class buffering {
 public:
  constexpr buffering(Topology const& topology, Op const& op, rank_type n)
      : topology_(topology), op_(op), n_(n), members_(members(topology, op, n)), ranks_(members_) {
    for (rank_type r = 0; r < members_; ++r) {
      enter(r);
    }
  }

  [[nodiscard]] constexpr stuck run() {
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
      if (!ranks_[r].over) {
        return {r, ranks_[r].at};
      }
    }
    return {};
  }

 private:
  struct state {
    step now{};
    std::uint32_t at = 0;
    std::uint32_t steps = 0;
    bool sending = false;
    bool receiving = false;
    bool over = false;
  };

  constexpr void enter(rank_type r) {
    state& s = ranks_[r];
    s.steps = topology_.steps(op_, n_, r);
    s.over = s.at == s.steps;
    s.now = s.over ? step{} : topology_.at(op_, n_, r, s.at);
    s.sending = s.now.sends();
    s.receiving = s.now.receives();
  }

  /// Passes what can be passed; true if the rank went on to its next step.
  constexpr bool advance(rank_type r) {
    state& me = ranks_[r];
    if (me.over) {
      return false;
    }
    if (me.sending) {
      state& peer = ranks_[me.now.send.peer];
      if (peer.receiving && peer.now.receive.peer == r) {
        me.sending = peer.receiving = false;
        awake_.push_back(me.now.send.peer);
      }
    }
    if (me.receiving) {
      state& peer = ranks_[me.now.receive.peer];
      if (peer.sending && peer.now.send.peer == r) {
        me.receiving = peer.sending = false;
        awake_.push_back(me.now.receive.peer);
      }
    }
    if (me.sending || me.receiving) {
      return false;
    }
    ++me.at;
    enter(r);
    return true;
  }

  Topology const& topology_;
  Op op_;
  rank_type n_;
  rank_type members_;  ///< the helpers, too
  std::vector<state> ranks_;
  std::vector<rank_type> awake_{};
};

}  // namespace tutti::detail::verify
