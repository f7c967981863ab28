// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/net/handshake_server.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// An accepted connection that still has to present itself by a frame of kind `hello`.
struct pending_hello {
  channel line;
  std::string peer = {};  ///< the peer's address, for reports
  bootstrap_frame frame = {};

  [[nodiscard]] int fd() const noexcept { return line.fd(); }

  /// Reads available bytes. A hello longer than `limit` is refused before it is stored.
  [[nodiscard]] net::handshake_state hear(std::uint64_t limit) {
    bool const open = line.fill(integer_cast<std::size_t>(limit) + 64) != io::hangup;
    channel::parse_result const result = line.next(frame, limit);
    if (result == channel::parse_result::incomplete) {
      return {.complete = false, .objection = open ? nullptr : "it closed before its greeting"};
    }
    if (result == channel::parse_result::too_long) {
      return {.complete = false, .objection = "a frame too long for a greeting"};
    }
    bool const good = result == channel::parse_result::frame && frame.kind == bootstrap_frame_kind::hello;
    return {.complete = good, .objection = good ? nullptr : "not a greeting of tutti"};
  }
};

}  // namespace tutti::detail::bootstrap
