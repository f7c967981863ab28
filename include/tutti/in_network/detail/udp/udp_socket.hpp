// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/in_network/extend/udp_options.hpp>

namespace tutti::inline v0_1_0::detail::udp {

/// A datagram socket, bound; an address that stands for all of IPv6 serves IPv4, too. What it sends can be marked by
/// ECN, and it says whether what comes is.
/// @throws error(failure::join) that says why not
[[nodiscard]] TUTTI_DECL descriptor udp_socket(net::address const& at, udp_options const& options);

/// A group of receivers, to which a packet is sent once: an address of IPv4 or IPv6 multicast.
struct udp_group {
  net::address at;        ///< with its port
  net::address by;        ///< of the interface that its packets come and go through
  int hops = 1;           ///< 1: they pass no router
  bool is_shared = true;  ///< others on this host hear what this one sends
};

/// The number of the interface with this address; 0: there is none.
[[nodiscard]] TUTTI_DECL unsigned interface_number(net::address const& by);

/// Makes a socket send to groups through the interface. False: it cannot.
[[nodiscard]] TUTTI_DECL bool send_to_group(int fd, udp_group const& group);
/// A datagram socket that receives what is sent to the group, and nothing else. A host may have several.
/// @throws error(failure::join) that says why not
[[nodiscard]] TUTTI_DECL descriptor group_socket(udp_group const& group, udp_options const& options);
/// A descriptor that is readable when one of two is.
/// @throws error(failure::join) if the process has no descriptors left
[[nodiscard]] TUTTI_DECL descriptor either_socket(int first, int second);

/// How many bytes of what comes the system keeps until they are read.
[[nodiscard]] TUTTI_DECL int receive_buffer(int fd) noexcept;

/// Lets the system put packets of one sender together, and says so. False: it cannot.
[[nodiscard]] TUTTI_DECL bool receive_bursts(int fd) noexcept;
/// Whether the system cuts what it is given into packets.
[[nodiscard]] TUTTI_DECL bool sends_bursts(int fd) noexcept;

/// An address that stands for all of this host, IPv6 and IPv4; of IPv4 alone where there is no IPv6.
[[nodiscard]] TUTTI_DECL net::address any_address(std::uint16_t port) noexcept;

}  // namespace tutti::detail::udp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/in_network/detail/udp/udp_socket.ipp>
#endif
