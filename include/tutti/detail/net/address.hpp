// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/environment.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

/// Addresses and sockets of the Internet protocols, IPv4 and IPv6 alike.
namespace tutti::inline v0_1_0::detail::inline net {

/// Reads a decimal port, 0 to 65535. Returns false if `text` is something else.
[[nodiscard]] TUTTI_DECL bool parse_port(std::string_view text, std::uint16_t& port) noexcept;

/// Reads "host:port" or "[v6]:port". Returns false if `text` is neither; an IPv6 address needs its brackets.
[[nodiscard]] TUTTI_DECL bool parse(std::string_view text, host_port& result);

[[nodiscard]] TUTTI_DECL std::string format(std::string_view host, std::uint16_t port);
[[nodiscard]] TUTTI_DECL std::string format(host_port const& at);

/// An address of a socket, IPv4 or IPv6, with a port.
class address {
 public:
  address() noexcept = default;
  address(sockaddr const* source, socklen_t length) noexcept;

  [[nodiscard]] sockaddr const* data() const noexcept { return reinterpret_cast<sockaddr const*>(&storage_); }
  [[nodiscard]] socklen_t size() const noexcept { return length_; }
  [[nodiscard]] int family() const noexcept { return storage_.ss_family; }
  [[nodiscard]] explicit operator bool() const noexcept { return family() == AF_INET || family() == AF_INET6; }

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] address with_port(std::uint16_t port) const noexcept;

  /// True if only this host can reach it.
  [[nodiscard]] bool is_loopback() const noexcept;
  /// True if it stands for all addresses of a host: 0.0.0.0, ::.
  [[nodiscard]] bool is_any() const noexcept;
  /// True if it is link-local, unicast or multicast: the number of the link differs from host to host.
  [[nodiscard]] bool is_link_local() const noexcept;
  /// The number of its link on this host (RFC 4007: zone index), if it is link-local and names one; otherwise 0.
  [[nodiscard]] std::uint32_t zone() const noexcept;
  /// The address by which this host reaches a link-local address of another; any other address unchanged.
  [[nodiscard]] address with_zone(std::uint32_t zone) const noexcept;

  /// The host as a number, "10.0.0.1" or "fe80::1%eth0", without the prefix of an IPv4-mapped address.
  [[nodiscard]] std::string host() const;
  [[nodiscard]] std::string text() const;

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

/// The addresses of a host, in order of preference; an empty host means any address of this one. A name may need the
/// name server, which has its own time limits.
/// @throws error(failure::join) if there are none: no such host, or no name server
[[nodiscard]] TUTTI_DECL std::vector<address> resolve(std::string const& host, std::uint16_t port);

/// The address that "localhost" or a loopback number stands for, which only this host can reach; empty for all other
/// hosts, which are not looked up.
/// @throws error(failure::join) if "localhost" has no address
[[nodiscard]] TUTTI_DECL address loopback_address(host_port const& at);

/// The own address from which packets go to `destination`, port 0; empty without a route. Sends nothing: connecting a
/// datagram socket only looks up the route.
[[nodiscard]] TUTTI_DECL address local_towards(address const& destination) noexcept;

/// An address of a network interface that is up.
struct network_interface {
  std::string name;
  net::address at;
};

/// All interfaces of this host: IPv4, IPv6, then link-local IPv6.
[[nodiscard]] TUTTI_DECL std::vector<network_interface> interfaces();

/// The number by which processes of this host reach each other: 127.0.0.1, else ::1.
/// @throws error(failure::join) if there is neither
[[nodiscard]] TUTTI_DECL std::string loopback_host();

/// The number by which other hosts are likely to reach this one: of the interface of the default route, IPv4 before
/// IPv6; else of the only interface; else a loopback address.
/// @throws error(failure::join) if there are several interfaces and no default route
[[nodiscard]] TUTTI_DECL std::string outward_host();

/// The address, port 0, of an interface of this host ("eth0", "ib0": the first in the order of `interfaces`), or a
/// number ("10.0.0.1", "fe80::1%eth0").
/// @throws error(failure::join) that lists the interfaces, if this host has no such
[[nodiscard]] TUTTI_DECL address interface_address(std::string const& name);

}  // namespace tutti::detail::net

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/net/address.ipp>
#endif
