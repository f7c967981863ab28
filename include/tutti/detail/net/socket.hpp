// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>

/// Stream sockets: non-blocking, closed on exec, without Nagle's delay.
namespace tutti::inline v0_1_0::detail::inline net {

/// Opens a stream socket for an address family; empty if the system has no such family.
[[nodiscard]] TUTTI_DECL descriptor stream_socket(int family) noexcept;

/// Sends small messages at once.
TUTTI_DECL void no_delay(int fd) noexcept;

/// The address that a socket is bound to, or an empty one.
[[nodiscard]] TUTTI_DECL address local_address(int fd) noexcept;

/// The address at the other end of a connection, or an empty one.
[[nodiscard]] TUTTI_DECL address peer_address(int fd) noexcept;

/// The written bytes that the peer's system has not acknowledged.
[[nodiscard]] TUTTI_DECL int unacknowledged_bytes(int fd) noexcept;

/// The written bytes that the system has not sent.
[[nodiscard]] TUTTI_DECL int unsent_bytes(int fd) noexcept;

/// Starts to connect, and returns at once. The socket is writable once the result is known (`connect_error`). Returns
/// none, with an errno, if it failed already.
[[nodiscard]] TUTTI_DECL descriptor begin_connect(address const& destination) noexcept;

/// The result of a connect: 0, or the errno of its failure.
[[nodiscard]] TUTTI_DECL int connect_error(int fd) noexcept;

/// Tries once to connect. Returns none, with an errno, on failure; ETIMEDOUT at the deadline.
[[nodiscard]] TUTTI_DECL descriptor connect(address const& destination, time_point deadline) noexcept;

/// Listens at an address; with port 0 the system chooses one (`local_address`).
/// @throws error(failure::join) with the cause
[[nodiscard]] TUTTI_DECL descriptor listen(address const& at, int backlog = 1024);

/// Listens at every address of this host, for IPv6 and IPv4; for IPv4 alone if there is no IPv6.
/// @throws error(failure::join) with the cause
[[nodiscard]] TUTTI_DECL descriptor listen(std::uint16_t port, int backlog = 1024);

/// Makes `accept` skip connections that have sent nothing yet, so that silent ones cost no descriptor if the connecting
/// side speaks first. Connections that arrive while the system's queue is full pass, as do all on a system without this
/// option.
TUTTI_DECL void await_data(int listener) noexcept;

/// Accepts a waiting connection. Returns none, with an errno, if there is none or it is gone again.
[[nodiscard]] TUTTI_DECL descriptor accept(int listener) noexcept;

}  // namespace tutti::detail::net

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/net/socket.ipp>
#endif
