// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/inquest.hpp>
#include <tutti/detail/communicator/rank_state.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline communicator {

TUTTI_DECL inquest::inquest(rank_state const& here, flow on)
    : rank_(here.rank),
      size_(here.size()),
      transport_(here.any),
      on_(on),
      begun_(transport_.now()),
      not_before_(begun_) {}

TUTTI_DECL inquest::~inquest() = default;
TUTTI_DECL inquest::waiting_rank::~waiting_rank() = default;

TUTTI_DECL bool inquest::advance() {
  while (!found_ && transport_.now() >= not_before_) {
    if (!chain_) {
      turn_to(rank_, on_);  // includes waits for this rank's own earlier operations
    }
    rank_type const suspect = chain_->rank;
    asked_ = asked_ || transport_.query_wait(suspect);
    wait_report const answer = asked_ ? standing(suspect) : wait_report{};
    time_point const now = transport_.now();
    if (answer.peer != no_rank && (answer.flow == wanted_ || now - since_ >= settling)) {
      follow(answer);
    } else if (now - since_ >= patience) {
      found_ = {failure::deadline, answer.is_fresh ? no_rank : suspect, rank_};
    } else if (now - begun_ >= longest) {
      found_ = {failure::deadline, no_rank, rank_};
    } else {
      return false;
    }
  }
  return static_cast<bool>(found_);
}

TUTTI_DECL void inquest::turn_to(rank_type suspect, flow on) {
  chain_ = owned<waiting_rank>(new waiting_rank{suspect, {}, static_cast<owned<waiting_rank>&&>(chain_)});
  wanted_ = on;
  asked_ = false;
  since_ = transport_.now();
}

/// The wait that holds up a rank: on the flow on which it is awaited, or else the wait that blocks its program. Not
/// fresh: the rank has not answered. Fresh without a peer: it waits for an in-network aggregator, and does not know for
/// which rank that waits.
TUTTI_DECL wait_report inquest::standing(rank_type rank) const {
  wait_report best;
  for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
    wait_report const w = transport_.reported_wait(rank, lane);
    bool const is_wanted = lane != transfer_lane && w.flow == wanted_;
    if (!w.is_fresh || !(is_wanted || w.blocks_program)) {
      continue;
    }
    best.is_fresh = true;
    if (w.peer < size_ && is_wanted) {
      return w;
    }
    if (w.peer < size_ && best.peer == no_rank) {
      best = w;
    }
  }
  return best;
}

/// Appends the rank that the last one waits for.
TUTTI_DECL void inquest::follow(wait_report const& answer) {
  chain_->said = answer;
  for (waiting_rank const* one = chain_.get(); one != nullptr; one = one->before.get()) {
    if (one->rank == answer.peer) {
      return close(answer.peer);
    }
  }
  turn_to(answer.peer, answer.flow);
}

/// Handles a chain that is a circle from rank `first` on.
TUTTI_DECL void inquest::close(rank_type first) {
  std::uint64_t members = 0;
  bool all = true;
  waiting_rank const* once = circle_.get();
  for (waiting_rank const* one = chain_.get();
       once != nullptr && once->rank == one->rank && once->said.has_same_progress(one->said);
       one = one->before.get(), once = once->before.get()) {
    std::uint64_t const bit = tutti::fault::bit_of(one->rank);
    members |= bit;
    all = all && bit != 0;
    if (one->rank == first) {
      found_ = all ? tutti::fault{failure::deadline, no_rank, no_rank, members}
                   : tutti::fault{failure::deadline, first, rank_};
      return;
    }
  }
  circle_ = static_cast<owned<waiting_rank>&&>(chain_);
  not_before_ = transport_.now() + 2 * settling;
}

}  // namespace tutti::detail::communicator
