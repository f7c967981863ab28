// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/communicator/straggler_search.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline communicator {

TUTTI_DECL straggler_search::straggler_search(rank_state const& state, flow late_flow)
    : rank_(state.rank),
      size_(state.size()),
      transport_(state.transport),
      late_flow_(late_flow),
      begin_(transport_.now()),
      next_attempt_(begin_) {}

TUTTI_DECL straggler_search::~straggler_search() = default;
TUTTI_DECL straggler_search::waiting_rank::~waiting_rank() = default;

TUTTI_DECL bool straggler_search::advance() {
  while (!result_ && transport_.now() >= next_attempt_) {
    if (!chain_) {
      turn_to(rank_, late_flow_);  // includes waits for this rank's own earlier operations
    }
    rank_type const suspect = chain_->rank;
    has_asked_ = has_asked_ || transport_.query_wait(suspect);
    wait_report const answer = has_asked_ ? current_wait(suspect) : wait_report{};
    time_point const now = transport_.now();
    if (answer.peer != no_rank && (answer.flow == awaited_flow_ || now - suspect_begin_ >= settling)) {
      follow(answer);
    } else if (now - suspect_begin_ >= patience) {
      result_ = {failure::deadline, answer.is_fresh ? no_rank : suspect, rank_};
    } else if (now - begin_ >= longest) {
      result_ = {failure::deadline, no_rank, rank_};
    } else {
      return false;
    }
  }
  return static_cast<bool>(result_);
}

TUTTI_DECL void straggler_search::turn_to(rank_type suspect, flow awaited_flow) {
  chain_ = owner<waiting_rank>(new waiting_rank{suspect, {}, static_cast<owner<waiting_rank>&&>(chain_)});
  awaited_flow_ = awaited_flow;
  has_asked_ = false;
  suspect_begin_ = transport_.now();
}

/// The wait that holds up a rank: on the flow on which it is awaited, or else the wait that blocks its program. Not
/// fresh: the rank has not answered. Fresh without a peer: it waits for an in-network aggregator, and does not know for
/// which rank that waits.
TUTTI_DECL wait_report straggler_search::current_wait(rank_type rank) const {
  wait_report wait;
  for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
    wait_report const report = transport_.reported_wait(rank, lane);
    bool const is_awaited = lane != transfer_lane && report.flow == awaited_flow_;
    if (!report.is_fresh || !(is_awaited || report.blocks_program)) {
      continue;
    }
    wait.is_fresh = true;
    if (report.peer < size_ && is_awaited) {
      return report;
    }
    if (report.peer < size_ && wait.peer == no_rank) {
      wait = report;
    }
  }
  return wait;
}

/// Appends the rank that the last one waits for.
TUTTI_DECL void straggler_search::follow(wait_report const& answer) {
  chain_->report = answer;
  for (waiting_rank const* link = chain_.get(); link != nullptr; link = link->waiter.get()) {
    if (link->rank == answer.peer) {
      return close(answer.peer);
    }
  }
  turn_to(answer.peer, answer.flow);
}

/// Handles a chain that is a circle from rank `first` on.
TUTTI_DECL void straggler_search::close(rank_type first) {
  std::uint64_t members = 0;
  bool has_all_bits = true;
  waiting_rank const* former = circle_.get();
  for (waiting_rank const* link = chain_.get();
       former != nullptr && former->rank == link->rank && former->report.has_same_progress(link->report);
       link = link->waiter.get(), former = former->waiter.get()) {
    std::uint64_t const bit = tutti::fault::bit_of(link->rank);
    members |= bit;
    has_all_bits = has_all_bits && bit != 0;
    if (link->rank == first) {
      result_ = has_all_bits ? tutti::fault{failure::deadline, no_rank, no_rank, members}
                             : tutti::fault{failure::deadline, first, rank_};
      return;
    }
  }
  circle_ = static_cast<owner<waiting_rank>&&>(chain_);
  next_attempt_ = transport_.now() + 2 * settling;
}

}  // namespace tutti::detail::communicator
