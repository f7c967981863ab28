// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/host_port.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

/// Addresses and sockets of the Internet protocols, IPv4 and IPv6 alike.
namespace tutti::inline v0_1_0::detail::inline net {

/// Reads a decimal port, 0 to 65535. False: `text` is something else.
[[nodiscard]] TUTTI_DECL bool parse_port(std::string_view text, std::uint16_t& port) noexcept;

/// Reads "host:port" or "[v6]:port". False: it is neither; an IPv6 address needs its brackets.
[[nodiscard]] TUTTI_DECL bool parse(std::string_view text, host_port& result);

[[nodiscard]] TUTTI_DECL std::string format(std::string_view host, std::uint16_t port);
[[nodiscard]] TUTTI_DECL std::string format(host_port const& at);

/// A socket's address: of IPv4 or IPv6, with a port.
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

  /// Whether only this very host can reach it.
  [[nodiscard]] bool is_loopback() const noexcept;
  /// Whether it is no host's, but stands for all that one has: 0.0.0.0, ::.
  [[nodiscard]] bool is_any() const noexcept;
  /// Whether it holds for one link only, which has another number on each host; that of a group, too.
  [[nodiscard]] bool is_link_local() const noexcept;
  /// The number of its link here (RFC 4007: zone index), if this is link-local and says it; otherwise 0.
  [[nodiscard]] std::uint32_t zone() const noexcept;
  /// A link-local address of another host, as this one reaches it; any other one as it is.
  [[nodiscard]] address through(std::uint32_t zone) const noexcept;

  /// The host as a number: "10.0.0.1", "fe80::1%eth0". An IPv4 address that IPv6 wraps is unwrapped.
  [[nodiscard]] std::string host() const;
  [[nodiscard]] std::string text() const;

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

/// The addresses of a host, in the order of preference; an empty host is any address of this one.
/// A name may need the name server, which has its own time limits; a number never does.
/// @throws error(failure::join) if there are none: no such host, or no name server
[[nodiscard]] TUTTI_DECL std::vector<address> resolve(std::string const& host, std::uint16_t port);

/// The own address from which packets go to `there`, port 0; the empty address without a route.
/// Sends nothing: connecting a datagram socket only looks up the route.
[[nodiscard]] TUTTI_DECL address local_towards(address const& destination) noexcept;

/// An address of a network interface of this host that is up.
struct network_interface {
  std::string name;
  net::address at;
};

/// All of them: IPv4, IPv6, and at the end those of IPv6 that hold for one link only.
[[nodiscard]] TUTTI_DECL std::vector<network_interface> interfaces();

/// The number by which processes of this host reach each other: 127.0.0.1, or ::1 where there is no such.
/// @throws error(failure::join) if there is neither
[[nodiscard]] TUTTI_DECL std::string loopback_host();

/// The number by which other hosts are likely to reach this one: of the interface of the default route, IPv4 before
/// IPv6, or where there is none the only one that there is; a loopback address where there is no interface at all.
/// @throws error(failure::join) if there are several
[[nodiscard]] TUTTI_DECL std::string outward_host();

/// The address, port 0, that a user names by an interface of this host ("eth0", "ib0": the first in the order of
/// `interfaces`) or as a number ("10.0.0.1", "fe80::1%eth0").
/// @throws error(failure::join) that lists what there is, if this host has no such
[[nodiscard]] TUTTI_DECL address interface_address(std::string const& name);

}  // namespace tutti::detail::net

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/net/address.ipp>
#endif
