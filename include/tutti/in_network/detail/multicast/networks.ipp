// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/in_network/detail/multicast/networks.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tutti::inline v0_1_0::detail::multicast {

inline net::address group_address(std::string const& text) {
  host_port at;
  bool const reads = net::parse(text, at);
  std::string const number = reads ? at.host.substr(0, at.host.find('.')) : "";
  bool const is_ipv6_group = reads && (at.host.starts_with("ff") || at.host.starts_with("FF"));
  bool const is_ipv4_group = number.size() == 3 && number >= "224" && number <= "239";
  if (!is_ipv6_group && !is_ipv4_group) {
    throw error(failure::join,
                "udp_multicast: a group is an address from 224.0.0.0 to 239.255.255.255, or of ff00::/8, "
                "and a port, such as 239.192.1.2:5000 or [ff15::7]:5000, or none; not \"" +
                    text + "\" (TUTTI_MULTICAST, or options::network.group)");
  }
  return net::resolve(at.host, at.port).front();
}

TUTTI_DECL udp_network::udp_network(std::string host, options const& o)
    : options_(o),
      host_(std::move(host)),
      by_(net::interface_address(host_)),
      link_(udp::interface_number(by_)),
      port_(by_, o.socket) {}

TUTTI_DECL std::string udp_network::card() const {
  return port_.local().as(by_.family()).through(0).text();  // another host has its own number of the link
}

/// A packet of 1 KiB takes up to a page there, and the system allows twice what it says.
TUTTI_DECL std::uint32_t udp_network::room() const noexcept {
  return static_cast<std::uint32_t>(udp::receive_buffer(port_.descriptor())) / 2048;
}

TUTTI_DECL std::string udp_network::choose_group(std::uint32_t nonce) const {
  char const* const set = std::getenv("TUTTI_MULTICAST");
  std::string const said = options_.group.empty() && set != nullptr ? set : options_.group;
  if (!said.empty()) {
    return said == "none" ? "" : said;
  }
  // 18 bits number the groups of an organisation (RFC 2365); the port is none that the system gives out by itself.
  auto const at = static_cast<std::uint16_t>(16384 + (nonce >> 18));
  auto const part = [&](unsigned shift) { return std::to_string(nonce >> shift & 255U); };
  return by_.family() == AF_INET
             ? net::format("239." + std::to_string(192 + (nonce >> 16 & 3U)) + "." + part(8) + "." + part(0), at)
             : net::format("ff15::" + std::to_string(nonce >> 16 & 3U) + ":" + part(8) + ":" + part(0), at);
}

TUTTI_DECL std::string udp_network::join(std::string const& group, std::span<std::string const> cards) {
  net::address const at = group_address(group);
  auto const host_in = [](std::string const& card) { return card.substr(0, card.rfind(':')); };
  std::string const mine = host_in(card());
  auto const here = std::ranges::count_if(cards, [&](std::string const& c) { return host_in(c) == mine; });
  if (at.family() != by_.family()) {
    return "talks through " + by_.host() + ", which is of another version of IP than " + group;
  }
  try {
    port_.join({.at = at.through(link_), .by = by_, .hops = options_.hops, .is_shared = here > 1});
    return {};
  } catch (error const& e) {  // then there is no group for any rank
    return e.what();
  }
}

TUTTI_DECL udp::endpoint udp_network::address_of(std::string const& text) const {
  host_port at;
  if (!net::parse(text, at)) {
    throw error(failure::join, "udp_multicast: an address is host:port or [v6]:port, not \"" + text + "\"");
  }
  return udp::endpoint(net::resolve(at.host, at.port).front().through(link_));
}

}  // namespace tutti::detail::multicast
