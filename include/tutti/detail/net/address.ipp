// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/extend/error.hpp>

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

namespace tutti::inline v0_1_0::detail::inline net {

TUTTI_DECL bool parse_port(std::string_view text, std::uint16_t& port) noexcept {
  if (text.empty() || text.size() > 5) {
    return false;
  }
  unsigned value = 0;
  for (char const c : text) {
    if (c < '0' || c > '9') {
      return false;
    }
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  port = static_cast<std::uint16_t>(value);
  return value <= 65535;
}

TUTTI_DECL bool parse(std::string_view text, host_port& result) {
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos || !parse_port(text.substr(colon + 1), result.port)) {
    return false;
  }
  std::string_view host = text.substr(0, colon);
  bool const has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (has_brackets) {
    host = host.substr(1, host.size() - 2);
  }
  if (host.empty() || host.find_first_of("[] \t/") != std::string_view::npos ||
      (host.find(':') != std::string_view::npos) != has_brackets) {
    return false;
  }
  result.host = host;
  return true;
}

TUTTI_DECL std::string format(std::string_view host, std::uint16_t port) {
  bool const v6 = host.find(':') != std::string_view::npos;
  return (v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::to_string(port);
}
TUTTI_DECL std::string format(host_port const& at) {
  return format(at.host, at.port);
}

/// Returns the address as IPv4. @pre it is one
[[nodiscard]] inline sockaddr_in const& as_ipv4(address const& a) noexcept {
  return *reinterpret_cast<sockaddr_in const*>(a.data());
}
/// Returns the address as IPv6. @pre it is one
[[nodiscard]] inline sockaddr_in6 const& as_ipv6(address const& a) noexcept {
  return *reinterpret_cast<sockaddr_in6 const*>(a.data());
}

TUTTI_DECL address::address(sockaddr const* source, socklen_t length) noexcept
    : length_(std::min<socklen_t>(length, sizeof storage_)) {
  std::memcpy(&storage_, source, length_);
}

TUTTI_DECL std::uint16_t address::port() const noexcept {
  return ntohs(family() == AF_INET6 ? as_ipv6(*this).sin6_port : as_ipv4(*this).sin_port);
}

TUTTI_DECL address address::with_port(std::uint16_t port) const noexcept {
  address a = *this;
  if (family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&a.storage_)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(&a.storage_)->sin_port = htons(port);
  }
  return a;
}

TUTTI_DECL bool address::is_loopback() const noexcept {
  if (family() == AF_INET6) {
    in6_addr const& six = as_ipv6(*this).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
  }
  return ntohl(as_ipv4(*this).sin_addr.s_addr) >> 24 == 127;
}

TUTTI_DECL bool address::is_any() const noexcept {
  return family() == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&as_ipv6(*this).sin6_addr)
                              : as_ipv4(*this).sin_addr.s_addr == htonl(INADDR_ANY);
}

TUTTI_DECL bool address::is_link_local() const noexcept {
  if (family() != AF_INET6) {
    return false;
  }
  in6_addr const& six = as_ipv6(*this).sin6_addr;
  return IN6_IS_ADDR_LINKLOCAL(&six) || IN6_IS_ADDR_MC_LINKLOCAL(&six);
}

TUTTI_DECL std::uint32_t address::zone() const noexcept {
  return is_link_local() ? as_ipv6(*this).sin6_scope_id : 0;
}

TUTTI_DECL address address::with_zone(std::uint32_t zone) const noexcept {
  address a = *this;
  if (is_link_local()) {
    reinterpret_cast<sockaddr_in6*>(&a.storage_)->sin6_scope_id = zone;
  }
  return a;
}

TUTTI_DECL std::string address::host() const {
  char text[NI_MAXHOST] = {};
  standard_numbers const guard;  // looking up the name of a zone opens a socket
  if (!*this || ::getnameinfo(data(), length_, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) {
    return "?";
  }
  std::string_view number = text;
  if (constexpr std::string_view wrap = "::ffff:"; number.starts_with(wrap) && number.find('.') != number.npos) {
    number.remove_prefix(wrap.size());
  }
  return std::string(number);
}

TUTTI_DECL std::string address::text() const {
  return format(host(), port());
}

TUTTI_DECL std::vector<address> resolve(std::string const& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (host.empty() ? AI_PASSIVE : 0);
  // "localhost" needs no lookup (RFC 6761, 6.3), and a bare system may not know it.
  bool const is_local = host.empty() || host == "localhost";
  addrinfo* results = nullptr;
  standard_numbers const guard;
  int const code = ::getaddrinfo(is_local ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &results);
  if (code != 0) {
    throw error(failure::join, "cannot resolve host '" + host + "': " +
                                   (code == EAI_SYSTEM ? advise_on_errno(errno) : std::string(::gai_strerror(code))) +
                                   "; give a name that this host knows, or a number");
  }
  struct owner {
    addrinfo* list;
    ~owner() { ::freeaddrinfo(list); }
  } const list_owner{results};
  std::vector<address> addresses;
  for (addrinfo const* a = results; a != nullptr; a = a->ai_next) {
    addresses.emplace_back(a->ai_addr, a->ai_addrlen);
  }
  return addresses;
}

/// True if the name of a host is a number.
TUTTI_DECL bool is_number(std::string const& host) noexcept {
  in6_addr number;
  return ::inet_pton(AF_INET, host.c_str(), &number) == 1 || ::inet_pton(AF_INET6, host.c_str(), &number) == 1;
}

TUTTI_DECL address loopback_address(host_port const& at) {
  bool const is_local = at.host == "localhost";
  if (!is_local && !is_number(at.host)) {
    return {};
  }
  address const result = resolve(is_local ? loopback_host() : at.host, at.port).front();
  return result.is_loopback() ? result : address();
}

TUTTI_DECL address local_towards(address const& destination) noexcept {
  descriptor const probe([&] { return ::socket(destination.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0); });
  address const target =
      destination.port() != 0 ? destination : destination.with_port(9);  // some systems refuse port 0
  sockaddr_storage local{};
  socklen_t length = sizeof local;
  if (!probe || ::connect(probe.get(), target.data(), target.size()) != 0 ||
      ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&local), &length) != 0) {
    return {};
  }
  return address(reinterpret_cast<sockaddr const*>(&local), length).with_port(0);
}

/// Reports a failed query to the system if it failed for lack of resources.
/// @throws error(failure::join) if descriptors or memory are missing
TUTTI_DECL void expect_resources(char const* question) {
  if (int const code = errno; out_of_resources(code)) {
    throw error(failure::join, std::string("cannot find out ") + question + ": " + advise_on_errno(code));
  }
}

TUTTI_DECL std::vector<network_interface> interfaces() {
  struct owner {
    ifaddrs* list = nullptr;
    ~owner() { ::freeifaddrs(list); }
  } results;
  std::vector<network_interface> addresses;
  standard_numbers const guard;
  if (::getifaddrs(&results.list) != 0) {
    expect_resources("which interfaces this host has");
    return addresses;
  }
  for (int const kind : {0, 1, 2}) {
    for (ifaddrs const* i = results.list; i != nullptr; i = i->ifa_next) {
      int const family = kind == 0 ? AF_INET : AF_INET6;
      if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != family || (i->ifa_flags & IFF_UP) == 0) {
        continue;
      }
      std::size_t const length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      address const at(i->ifa_addr, static_cast<socklen_t>(length));
      if (at.is_link_local() == (kind == 2)) {
        addresses.push_back({i->ifa_name, at});
      }
    }
  }
  return addresses;
}

TUTTI_DECL std::string loopback_host() {
  for (char const* const host : {"127.0.0.1", "::1"}) {
    address const at = resolve(host, 0).front();
    descriptor const probe([&] { return ::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC, 0); });
    if (probe && ::bind(probe.get(), at.data(), at.size()) == 0) {
      return host;
    }
    expect_resources("which loopback address this host has");
  }
  throw error(failure::join,
              "this host has no loopback address, neither 127.0.0.1 nor ::1: its interface lo is down "
              "(ip link set lo up)");
}

TUTTI_DECL std::string outward_host() {
  // Addresses for documentation stand for any remote host; nothing is sent to them.
  for (char const* const anywhere : {"192.0.2.1", "2001:db8::1"}) {
    if (address const local = local_towards(resolve(anywhere, 9).front());
        local && !local.is_any() && !local.is_loopback()) {
      return local.host();
    }
  }
  std::vector<network_interface> candidates;
  for (network_interface const& i : interfaces()) {
    if (!i.at.is_loopback() && (candidates.empty() || candidates.front().name != i.name)) {
      candidates.push_back(i);
    }
  }
  if (candidates.size() > 1) {
    throw error(failure::join, "there is no default route, and several interfaces: " + candidates[0].name + " (" +
                                   candidates[0].at.host() + "), " + candidates[1].name + " (" +
                                   candidates[1].at.host() +
                                   "); name the one that leads to the other hosts with TUTTI_INTERFACE");
  }
  return candidates.empty() ? loopback_host() : candidates.front().at.host();
}

TUTTI_DECL address interface_address(std::string const& name) {
  if (name.find('%') != name.npos || is_number(name)) {
    address const at = resolve(name, 0).front();
    descriptor const probe([&] { return ::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC, 0); });
    if (!probe || ::bind(probe.get(), at.data(), at.size()) == 0 || errno != EADDRNOTAVAIL) {
      return at;  // other errors show when it is used
    }
  }
  std::string choices;
  for (network_interface const& i : interfaces()) {
    if (i.name == name) {
      return i.at;
    }
    choices.append(choices.empty() ? "" : ", ").append(i.name).append(" ").append(i.at.host());
  }
  throw error(failure::join, "no network interface of this host that is up has the name or address '" + name +
                                 "'; use one of these: " + (choices.empty() ? "(there are none)" : choices));
}

}  // namespace tutti::detail::net
