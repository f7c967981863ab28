// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/inquest.hpp>

#include <cstddef>

namespace tutti::detail {

TUTTI_DECL inquest::inquest(rank_state const& here, flow on)
    : rank_(here.rank),
      size_(here.size()),
      transport_(here.any),
      on_(on),
      begun_(transport_.now()),
      not_before_(begun_) {}

TUTTI_DECL bool inquest::advance() {
  while (!found_ && transport_.now() >= not_before_) {
    if (chain_.empty()) {
      turn_to(rank_, on_);  // this rank waits for its own earlier operations, too
    }
    rank_type const suspect = chain_.back().rank;
    asked_ = asked_ || transport_.ask(suspect);
    wait_report const answer = asked_ ? standing(suspect) : wait_report{};
    time_point const now = transport_.now();
    if (answer.peer != no_rank && (answer.on == wanted_ || now - since_ >= settling)) {
      follow(answer);
    } else if (now - since_ >= patience) {
      found_ = {failure::deadline, suspect, rank_};
    } else if (now - begun_ >= longest) {
      found_ = {failure::deadline, no_rank, rank_};
    } else {
      return false;
    }
  }
  return static_cast<bool>(found_);
}

TUTTI_DECL void inquest::turn_to(rank_type suspect, flow on) {
  chain_.push_back({suspect, {}});
  wanted_ = on;
  asked_ = false;
  since_ = transport_.now();
}

/// What holds a rank up: what it waits for on the flow that others wait for it on, or else what its program
/// waits for. No rank: it has not said.
TUTTI_DECL wait_report inquest::standing(rank_type rank) const {
  wait_report best;
  for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
    wait_report const w = transport_.said(rank, lane);
    if (!w.fresh || w.peer >= size_) {
      continue;
    }
    if (lane != transfer_lane && w.on == wanted_) {
      return w;
    }
    if (w.blocks && best.peer == no_rank) {
      best = w;
    }
  }
  return best;
}

/// The last one of the chain waits for another.
TUTTI_DECL void inquest::follow(wait_report const& answer) {
  chain_.back().said = answer;
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    if (chain_[i].rank == answer.peer) {
      return close(i);
    }
  }
  turn_to(answer.peer, answer.on);
}

/// From its i-th rank on the chain is a circle.
TUTTI_DECL void inquest::close(std::size_t i) {
  chain_.erase(chain_.begin(), chain_.begin() + static_cast<std::ptrdiff_t>(i));
  bool still = chain_.size() == circle_.size();
  for (std::size_t k = 0; still && k < chain_.size(); ++k) {
    still = chain_[k].rank == circle_[k].rank && chain_[k].said.same(circle_[k].said);
  }
  if (still) {
    std::uint64_t members = 0;
    bool all = true;
    for (waiting_rank const& l : chain_) {
      std::uint64_t const bit = tutti::fault::bit_of(l.rank);
      members |= bit;
      all = all && bit != 0;
    }
    found_ = all ? tutti::fault{failure::deadline, no_rank, no_rank, members}
                 : tutti::fault{failure::deadline, chain_[0].rank, rank_};
    return;
  }
  circle_ = chain_;
  chain_.clear();
  not_before_ = transport_.now() + 2 * settling;
}

}  // namespace tutti::detail
