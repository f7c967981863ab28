// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/extend/tcp_options.hpp>
#include <tutti/extend/time.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

/// Returns the options with times that can be added to others.
/// @throws precondition_error if one is negative
[[nodiscard]] inline tcp_options with_finite_times(tcp_options options) {
  for (duration* const time : {&options.handshake, &options.connect, &options.silence, &options.linger}) {
    *time = finite_patience(*time);
  }
  return options;
}

/// Enables keep-alive probes, so that a vanished host is noticed on an idle connection.
TUTTI_DECL void keep_alive(int fd, duration silence) noexcept;

/// True if the peer's host has answered nothing for `limit`, repeated probes included. A slow peer is not silent, for
/// its system answers; TCP_USER_TIMEOUT does not distinguish the two.
[[nodiscard]] TUTTI_DECL bool is_silent(int fd, duration limit) noexcept;

/// Sets the sizes of a socket's buffers, if the options give any.
TUTTI_DECL void size_buffers(int fd, tcp_options const& options) noexcept;

/// Prepares a connection within one host, which needs no congestion control.
///
/// Pacing (BBR) delays such a connection by the sender's clock, and the delayed packets are then sent by the reader's
/// processor, out of order. A window that grows with use makes the first long messages wait for acknowledgements:
/// `SO_RCVLOWAT` enlarges it and, unlike SO_RCVBUF, lets the system enlarge it further.
TUTTI_DECL void suit_one_host(int fd, tcp_options const& options) noexcept;

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/socket_options.ipp>
#endif
