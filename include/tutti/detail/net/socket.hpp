// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>

/// Stream sockets: non-blocking, closed on exec, without Nagle's delay.
namespace tutti::inline v0_1_0::detail::inline net {

/// A new stream socket for an address family; without one if the system has no such family.
[[nodiscard]] TUTTI_DECL descriptor stream_socket(int family) noexcept;

/// Sends small messages at once.
TUTTI_DECL void no_delay(int fd) noexcept;

/// The address that a socket is bound to, or the empty one.
[[nodiscard]] TUTTI_DECL address local_address(int fd) noexcept;

/// The address at the other end of a connection, or the empty one.
[[nodiscard]] TUTTI_DECL address peer_address(int fd) noexcept;

/// How many bytes that were written the system of the peer has not acknowledged.
[[nodiscard]] TUTTI_DECL int unacknowledged(int fd) noexcept;

/// How many bytes that were written the system has not sent.
[[nodiscard]] TUTTI_DECL int unsent(int fd) noexcept;

/// Starts to connect, and returns at once. Writable means decided: then ask `connect_error`. No
/// descriptor, and errno, if it failed already.
[[nodiscard]] TUTTI_DECL descriptor begin_connect(address const& destination) noexcept;

/// What became of a connection that was begun and is now decided: 0, or the errno of the failure.
[[nodiscard]] TUTTI_DECL int connect_error(int fd) noexcept;

/// One attempt to connect. No descriptor, and errno, if it fails; ETIMEDOUT at the deadline.
[[nodiscard]] TUTTI_DECL descriptor connect(address const& destination, time_point deadline) noexcept;

/// Listens at an address; port 0 lets the system choose (ask `local_address`).
/// @throws error(failure::join) that says why not
[[nodiscard]] TUTTI_DECL descriptor listen(address const& at, int backlog = 1024);

/// Listens at every address of this host, for IPv6 and IPv4; IPv4 alone where there is no IPv6.
/// @throws error(failure::join) that says why not
[[nodiscard]] TUTTI_DECL descriptor listen(std::uint16_t port, int backlog = 1024);

/// Lets `accept` have only those connections that have brought something: where the side that connects speaks first,
/// connections that say nothing cost no descriptor. Those that come while the system's queue is full pass; so do all
/// where the system knows no such thing.
TUTTI_DECL void await_data(int listener) noexcept;

/// Takes a connection that waits. No descriptor, and errno, if there is none, or if it is gone again.
[[nodiscard]] TUTTI_DECL descriptor accept(int listener) noexcept;

}  // namespace tutti::detail::net

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/net/socket.ipp>
#endif
