// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/net/handshake_server.hpp>
#include <tutti/extend/types.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// An accepted connection that still has to present itself by a frame of one kind.
struct pending_hello {
  channel line;
  std::string peer = {};  ///< the peer's address, for reports
  bootstrap_frame frame = {};
  bootstrap_frame_kind expected_kind = bootstrap_frame_kind::hello;  ///< kind of the awaited frame: hello, claim
  rank_type rank = no_rank;                                          ///< rank that it has proved to be
  rank_type place = no_rank;                                         ///< place where it waits after its claim

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
    if (result != channel::parse_result::frame) {
      return {.complete = false, .objection = "not a greeting of tutti"};
    }
    bool const is_expected = frame.kind == expected_kind;
    char const* const objection =
        frame.kind == bootstrap_frame_kind::hello   ? "it does not prove that it knows this TUTTI_SECRET"
        : frame.kind == bootstrap_frame_kind::claim ? "it has a TUTTI_SECRET, but this rank has none"
                                                    : "not a greeting of tutti";
    return {.complete = is_expected, .objection = is_expected ? nullptr : objection};
  }
};

}  // namespace tutti::detail::bootstrap
