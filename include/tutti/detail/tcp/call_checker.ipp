// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/mismatch.hpp>
#include <tutti/detail/tcp/call_checker.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::tcp {

[[nodiscard]] inline std::string call_text(call const& c, std::uint32_t number) {
  return describe(c) + " (number " + std::to_string(number) + ")";
}

/// Reports that the peer is in another call.
TUTTI_DECL void call_checker::throw_mismatch(frame const& header, flow s, call const& own_call) const {
  throw calls_differ(me_, call_text(own_call, s.number), peer_, call_text(header.sender_call, header.number));
}

/// Reports a message of another call, or of another size.
TUTTI_DECL void call_checker::throw_mismatch(frame const& header, flow s, call const& own_call,
                                             std::size_t bytes) const {
  if (header.number == s.number && header.sender_call.fingerprint() == own_call.fingerprint()) {
    throw lengths_differ(me_, bytes, peer_, header.bytes);
  }
  if (s.lane == transfer_lane) {  // its number is a check of type and length
    throw messages_differ(me_, peer_);
  }
  throw_mismatch(header, s, own_call);
}

}  // namespace tutti::detail::tcp
