// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/in_network/detail/udp/udp_socket.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace tutti::inline v0_1_0::detail::udp {

inline void switch_on(int fd, int level, int option, int value = 1) noexcept {
  ::setsockopt(fd, level, option, &value, sizeof value);
}

inline descriptor bound_socket(net::address const& at, udp_options const& options, bool is_group) {
  descriptor socket_descriptor([&] { return ::socket(at.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  if (socket_descriptor && at.family() == AF_INET6) {
    switch_on(socket_descriptor.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  }
  if (socket_descriptor && is_group) {
    switch_on(socket_descriptor.get(), SOL_SOCKET, SO_REUSEADDR);
  }
  if (!socket_descriptor || ::bind(socket_descriptor.get(), at.data(), at.size()) != 0) {
    throw error(failure::join, "cannot receive datagrams at " + at.text() + ": " + describe_errno(errno) +
                                   "; name an address of this host, and a port that is free");
  }
  int const fd = socket_descriptor.get();
  // Only privileged processes may exceed the system's limit.
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &options.buffer, sizeof options.buffer) != 0) {
    switch_on(fd, SOL_SOCKET, SO_RCVBUF, options.buffer);
  }
  if (::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &options.buffer, sizeof options.buffer) != 0) {
    switch_on(fd, SOL_SOCKET, SO_SNDBUF, options.buffer);
  }
  constexpr int ect_0 = 2;  // "ECN-capable transport", RFC 3168
  switch_on(fd, IPPROTO_IP, IP_TOS, ect_0);
  switch_on(fd, IPPROTO_IP, IP_RECVTOS);
  if (at.family() == AF_INET6) {
    switch_on(fd, IPPROTO_IPV6, IPV6_TCLASS, ect_0);
    switch_on(fd, IPPROTO_IPV6, IPV6_RECVTCLASS);
  }
  return socket_descriptor;
}

TUTTI_DECL descriptor udp_socket(net::address const& at, udp_options const& options) {
  return bound_socket(at, options, false);
}

TUTTI_DECL unsigned interface_number(net::address const& interface_address) {
  auto const interfaces = net::interfaces();
  auto const match = std::ranges::find_if(
      interfaces, [&](net::network_interface const& i) { return i.at.host() == interface_address.host(); });
  standard_numbers const reserved_numbers;
  return match == interfaces.end() ? 0 : ::if_nametoindex(match->name.c_str());
}

TUTTI_DECL bool send_to_group(int fd, udp_group const& group) {
  unsigned const number = interface_number(group.interface_address);
  if (group.at.family() == AF_INET) {
    ip_mreqn interface_request{};
    interface_request.imr_ifindex = static_cast<int>(number);
    switch_on(fd, IPPROTO_IP, IP_MULTICAST_TTL, group.hops);
    switch_on(fd, IPPROTO_IP, IP_MULTICAST_LOOP, group.is_shared ? 1 : 0);
    return number != 0 &&
           ::setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &interface_request, sizeof interface_request) == 0;
  }
  switch_on(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, group.hops);
  switch_on(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, group.is_shared ? 1 : 0);
  return number != 0 && ::setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &number, sizeof number) == 0;
}

TUTTI_DECL descriptor group_socket(udp_group const& group, udp_options const& options) {
  descriptor socket_descriptor = bound_socket(group.at, options, true);
  group_req membership{};
  membership.gr_interface = interface_number(group.interface_address);
  std::memcpy(&membership.gr_group, group.at.data(), group.at.size());
  int const level = group.at.family() == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
  if (membership.gr_interface == 0 ||
      ::setsockopt(socket_descriptor.get(), level, MCAST_JOIN_GROUP, &membership, sizeof membership) != 0) {
    throw error(failure::join, "cannot join the group " + group.at.text() + " at the interface of " +
                                   group.interface_address.host() + ": " +
                                   (membership.gr_interface == 0 ? "there is none" : describe_errno(errno)) +
                                   "; name another one (TUTTI_INTERFACE)");
  }
  return socket_descriptor;
}

TUTTI_DECL descriptor either_socket(int first, int second) {
  descriptor epoll([] { return ::epoll_create1(EPOLL_CLOEXEC); });
  for (int const fd : {first, second}) {
    epoll_event readable{.events = EPOLLIN, .data = {.fd = fd}};
    if (!epoll || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &readable) != 0) {
      throw error(failure::join, "cannot watch two sockets: " + describe_errno(errno) +
                                     "; allow this process more descriptors (ulimit -n)");
    }
  }
  return epoll;
}

TUTTI_DECL int receive_buffer(int fd) noexcept {
  int bytes = 0;
  socklen_t length = sizeof bytes;
  ::getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &length);
  return bytes / 2;  // the other half is bookkeeping
}

TUTTI_DECL bool receive_bursts(int fd) noexcept {
  int const enable = 1;
  return ::setsockopt(fd, IPPROTO_UDP, UDP_GRO, &enable, sizeof enable) == 0;
}

TUTTI_DECL bool sends_bursts(int fd) noexcept {
  int const zero = 0;
  return ::setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &zero, sizeof zero) == 0;
}

TUTTI_DECL net::address any_address(std::uint16_t port) noexcept {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_any;
  net::address const wildcard(reinterpret_cast<sockaddr const*>(&six), sizeof six);
  // IPv6 may be compiled in and yet disabled; only binding shows it.
  if (descriptor const probe([] { return ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0); });
      probe && ::bind(probe.get(), wildcard.data(), wildcard.size()) == 0) {
    return wildcard.with_port(port);
  }
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_ANY);
  return net::address(reinterpret_cast<sockaddr const*>(&four), sizeof four).with_port(port);
}

}  // namespace tutti::detail::udp
