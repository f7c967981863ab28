// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/in_network/detail/multicast/networks.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tutti::inline v0_1_0::detail::multicast {

inline net::address group_address(std::string const& text) {
  host_port group_endpoint;
  bool const reads = net::parse(text, group_endpoint);
  std::string const number = reads ? group_endpoint.host.substr(0, group_endpoint.host.find('.')) : "";
  bool const is_ipv6_group = reads && (group_endpoint.host.starts_with("ff") || group_endpoint.host.starts_with("FF"));
  bool const is_ipv4_group = number.size() == 3 && number >= "224" && number <= "239";
  if (!is_ipv6_group && !is_ipv4_group) {
    throw error(failure::join,
                "udp_multicast: a group must be none or a multicast address with a port, such as 239.192.1.2:5000 or "
                "[ff15::7]:5000, not \"" +
                    text + "\" (TUTTI_MULTICAST, or options::network.group)");
  }
  return net::resolve(group_endpoint.host, group_endpoint.port).front();
}

TUTTI_DECL udp_network::udp_network(std::string host, options const& settings)
    : options_(settings),
      host_(std::move(host)),
      interface_(net::interface_address(host_)),
      link_(udp::interface_number(interface_)),
      port_(interface_, settings.socket) {}

TUTTI_DECL std::string udp_network::endpoint_info() const {
  return port_.own_address()
      .for_family(interface_.family())
      .with_zone(0)
      .text();  // interface indices differ between hosts
}

/// Capacity of the receive buffer. A packet of 1 KiB occupies up to a page there, and the system allows
/// twice the bytes that it reports.
TUTTI_DECL std::uint32_t udp_network::room() const noexcept {
  return static_cast<std::uint32_t>(udp::receive_buffer(port_.descriptor())) / 2048;
}

TUTTI_DECL std::string udp_network::choose_group(std::uint32_t nonce) const {
  char const* const from_environment = std::getenv("TUTTI_MULTICAST");
  std::string const chosen_group =
      options_.group.empty() && from_environment != nullptr ? from_environment : options_.group;
  if (!chosen_group.empty()) {
    return chosen_group == "none" ? "" : chosen_group;
  }
  // RFC 2365 leaves 18 bits for the groups of an organisation; the port is outside the system's ephemeral range.
  auto const port_number = static_cast<std::uint16_t>(16384 + (nonce >> 18));
  auto const part = [&](unsigned shift) { return std::to_string(nonce >> shift & 255U); };
  return interface_.family() == AF_INET
             ? net::format("239." + std::to_string(192 + (nonce >> 16 & 3U)) + "." + part(8) + "." + part(0),
                           port_number)
             : net::format("ff15::" + std::to_string(nonce >> 16 & 3U) + ":" + part(8) + ":" + part(0), port_number);
}

TUTTI_DECL std::string udp_network::join(std::string const& group, std::span<std::string const> endpoints) {
  net::address const group_endpoint = group_address(group);
  auto const host_in = [](std::string const& card) { return card.substr(0, card.rfind(':')); };
  std::string const own_host = host_in(endpoint_info());
  auto const ranks_here =
      std::ranges::count_if(endpoints, [&](std::string const& text) { return host_in(text) == own_host; });
  if (group_endpoint.family() != interface_.family()) {
    return "uses the interface " + interface_.host() + ", whose version of IP is not that of " + group;
  }
  try {
    port_.join({.at = group_endpoint.with_zone(link_),
                .interface_address = interface_,
                .hops = options_.hops,
                .is_shared = ranks_here > 1});
    return {};
  } catch (error const& e) {  // the group is not used by any rank then
    return e.what();
  }
}

TUTTI_DECL udp::endpoint udp_network::address_of(std::string const& text) const {
  host_port group_endpoint;
  if (!net::parse(text, group_endpoint)) {
    throw error(failure::join, "udp_multicast: an address must be host:port or [v6]:port, not \"" + text + "\"");
  }
  return udp::endpoint(net::resolve(group_endpoint.host, group_endpoint.port).front().with_zone(link_));
}

}  // namespace tutti::detail::multicast
