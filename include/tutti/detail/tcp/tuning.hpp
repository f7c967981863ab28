// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/extend/tcp_options.hpp>
#include <tutti/extend/time.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

/// Returns the options with times that may be added to others.
/// @throws precondition_error if one is negative
[[nodiscard]] inline tcp_options with_finite_times(tcp_options options) {
  for (duration* const time : {&options.handshake, &options.connect, &options.silence, &options.linger}) {
    *time = finite_patience(*time);
  }
  return options;
}

/// Makes a socket notice that the other host has vanished while nothing is under way.
TUTTI_DECL void keep_alive(int fd, duration silence) noexcept;

/// Whether the host at the other end of a connection has answered nothing for `limit`, repeated asking included. A peer
/// that is merely slow is not silent, for its system answers; TCP_USER_TIMEOUT takes one for the other.
[[nodiscard]] TUTTI_DECL bool is_silent(int fd, duration limit) noexcept;

/// Sets the sizes of a socket's buffers, if the options name any.
TUTTI_DECL void size_buffers(int fd, tcp_options const& options) noexcept;

/// Prepares a connection within one host, where there is nothing to congest and no distance.
///
/// Systems that pace what they send (BBR) leave such connections waiting for their own clock, and what
/// they hold back is then sent by the processor that reads, out of order. And a window that grows only as
/// it is used lets the first long messages wait for acknowledgements. `SO_RCVLOWAT` makes the window larger
/// and, unlike SO_RCVBUF, leaves the system free to make it larger still.
TUTTI_DECL void suit_one_host(int fd, tcp_options const& options) noexcept;

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/tuning.ipp>
#endif
