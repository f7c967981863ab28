// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/in_network/extend/udp_options.hpp>

namespace tutti::inline v0_1_0::detail::udp {

/// Makes a bound datagram socket; one bound to the IPv6 wildcard also serves IPv4. It allows ECN marks on sent
/// packets, and reports marks of received ones.
/// @throws error(failure::join) with the reason
[[nodiscard]] TUTTI_DECL descriptor udp_socket(net::address const& at, udp_options const& options);

/// A multicast group, IPv4 or IPv6.
struct udp_group {
  net::address at;                 ///< address and port of the group
  net::address interface_address;  ///< address of the interface for its packets
  int hops = 1;                    ///< 1: packets cross no router
  bool is_shared = true;           ///< other sockets on this host receive this socket's packets
};

/// The index of the interface with this address, or 0.
[[nodiscard]] TUTTI_DECL unsigned interface_number(net::address const& interface_address);

/// Sets the interface for multicast packets of a socket. False if the system refuses.
[[nodiscard]] TUTTI_DECL bool send_to_group(int fd, udp_group const& group);
/// Makes a datagram socket that receives only packets of the group. A host may have several.
/// @throws error(failure::join) with the reason
[[nodiscard]] TUTTI_DECL descriptor group_socket(udp_group const& group, udp_options const& options);
/// Makes a descriptor that is readable when one of two is.
/// @throws error(failure::join) if the process has no descriptors left
[[nodiscard]] TUTTI_DECL descriptor either_socket(int first, int second);

/// The bytes that the system buffers for a socket.
[[nodiscard]] TUTTI_DECL int receive_buffer(int fd) noexcept;

/// Enables merging of packets of one sender (GRO). False if the system cannot.
[[nodiscard]] TUTTI_DECL bool receive_bursts(int fd) noexcept;
/// True if the system segments bursts into packets (GSO).
[[nodiscard]] TUTTI_DECL bool sends_bursts(int fd) noexcept;

/// The wildcard address for IPv6 and IPv4; for IPv4 alone if the host has no IPv6.
[[nodiscard]] TUTTI_DECL net::address any_address(std::uint16_t port) noexcept;

}  // namespace tutti::detail::udp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/in_network/detail/udp/udp_socket.ipp>
#endif
