// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/mismatch.hpp>
#include <tutti/detail/tcp/agreement.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::tcp {

[[nodiscard]] inline std::string call_text(call const& c, std::uint32_t number) {
  return describe(c) + " in flow " + std::to_string(number);
}

/// The peer is in another call.
TUTTI_DECL void agreement::differ(frame const& theirs, flow s, call const& mine) const {
  throw calls_differ(me_, call_text(mine, s.number), peer_, call_text(theirs.what, theirs.number));
}

/// The peer's message belongs to another call, or has another size.
TUTTI_DECL void agreement::differ(frame const& theirs, flow s, call const& mine, std::size_t bytes) const {
  if (theirs.number == s.number && theirs.what.fingerprint() == mine.fingerprint()) {
    throw calls_differ(me_, call_text(mine, s.number) + ", with a message of " + std::to_string(bytes) + " bytes",
                       peer_, call_text(theirs.what, theirs.number) + ", with one of " + std::to_string(theirs.bytes));
  }
  if (s.lane == transfer_lane) {  // where the number is a check of type and length
    throw messages_differ(me_, peer_);
  }
  differ(theirs, s, mine);
}

}  // namespace tutti::detail::tcp
