// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/fault_broadcast.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL bool fault_broadcast::adopt(tutti::fault const& reason) noexcept {
  if (fault_ || !reason) {
    return false;
  }
  fault_ = reason;
  return true;
}

TUTTI_DECL tutti::fault fault_broadcast::sanitize(tutti::fault claim, rank_type size) noexcept {
  if (claim.kind == failure::none || static_cast<std::uint64_t>(claim.kind) >= failure_kinds) {
    claim.kind = failure::protocol;
  }
  claim.culprit = claim.culprit < size ? claim.culprit : no_rank;
  if (claim.kind != failure::aborted) {  // its reporter is a number in the world
    claim.reporter = claim.reporter < size ? claim.reporter : no_rank;
  }
  claim.circle &= fault::bit_of(size) != 0 ? fault::bit_of(size) - 1 : claim.circle;
  return claim;
}

TUTTI_DECL bool fault_broadcast::send(connection& link) const {
  if (link.is_closed || link.reader.has_said_bye()) {
    return true;
  }
  if (!link.writer.is_mid_piece()) {
    link.writer.queue_control_frame(frame::with_fault(frame_kind::revoke, fault_));
    link.flush();
  }
  return link.is_sent() && !link.writer.is_mid_piece();
}

TUTTI_DECL void fault_broadcast::connect(waiter& event_waiter, address const& peer_address, hello const& request,
                                         hello_prover& prover, tcp_options const& options) {
  connections_.push_back(owner<connect_attempt>(
      new connect_attempt(event_waiter, peer_address, request, prover, options, duration::zero())));
  connections_.back()->advance();
}

TUTTI_DECL void fault_broadcast::advance_all() {
  std::erase_if(connections_, [](auto const& attempt) {
    attempt->advance();
    return attempt->is_delivered() || attempt->current_state() == connect_attempt::state::peer_gone;
  });
}

}  // namespace tutti::detail::tcp
