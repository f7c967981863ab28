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
  std::string from = {};  ///< the peer's address, for reports
  bootstrap_frame said = {};

  [[nodiscard]] int fd() const noexcept { return line.fd(); }

  /// Reads available bytes. A hello longer than `limit` is refused before it is stored.
  [[nodiscard]] net::handshake_state hear(std::uint64_t limit) {
    bool const open = line.fill(integer_cast<std::size_t>(limit) + 64) != io::closed;
    channel::found const found = line.next(said, limit);
    if (found == channel::found::nothing) {
      return {.complete = false, .objection = open ? nullptr : "it closed before it had said hello"};
    }
    if (found == channel::found::too_long) {
      return {.complete = false, .objection = "a frame too long to be a hello"};
    }
    bool const good = found == channel::found::frame && said.kind == bootstrap_frame_kind::hello;
    return {.complete = good, .objection = good ? nullptr : "not a hello of tutti"};
  }
};

}  // namespace tutti::detail::bootstrap
