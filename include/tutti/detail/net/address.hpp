// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/error.hpp>

#include <arpa/inet.h>
#include <cstdint>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <vector>

/// Addresses and sockets of the Internet protocols, IPv4 and IPv6 alike.
namespace tutti::detail::net {

/// "node7:29500", "10.0.0.1:80", "[fe80::1]:80": a name or number of a host, without brackets, and a port.
struct host_port {
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(host_port const&, host_port const&) = default;
};

/// Reads a decimal port, 0 to 65535. False: `text` is something else.
[[nodiscard]] constexpr bool parse_port(std::string_view text, std::uint16_t& port) noexcept {
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

/// Reads "host:port" or "[v6]:port". False: it is neither; an IPv6 address needs its brackets.
[[nodiscard]] inline bool parse(std::string_view text, host_port& to) {
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos || !parse_port(text.substr(colon + 1), to.port)) {
    return false;
  }
  std::string_view host = text.substr(0, colon);
  bool const bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
  }
  if (host.empty() || host.find_first_of("[] \t/") != std::string_view::npos ||
      (host.find(':') != std::string_view::npos) != bracketed) {
    return false;
  }
  to.host = host;
  return true;
}

[[nodiscard]] inline std::string format(std::string_view host, std::uint16_t port) {
  bool const v6 = host.find(':') != std::string_view::npos;
  return (v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::to_string(port);
}
[[nodiscard]] inline std::string format(host_port const& at) {
  return format(at.host, at.port);
}

/// A socket's address: of IPv4 or IPv6, with a port.
class address {
 public:
  address() noexcept = default;
  address(sockaddr const* from, socklen_t length) noexcept
      : length_(length <= sizeof storage_ ? length : socklen_t{sizeof storage_}) {
    std::memcpy(&storage_, from, length_);
  }

  [[nodiscard]] sockaddr const* data() const noexcept { return reinterpret_cast<sockaddr const*>(&storage_); }
  [[nodiscard]] socklen_t size() const noexcept { return length_; }
  [[nodiscard]] int family() const noexcept { return storage_.ss_family; }
  [[nodiscard]] explicit operator bool() const noexcept { return family() == AF_INET || family() == AF_INET6; }

  [[nodiscard]] std::uint16_t port() const noexcept {
    return ntohs(family() == AF_INET6 ? as<sockaddr_in6>().sin6_port : as<sockaddr_in>().sin_port);
  }
  [[nodiscard]] address with_port(std::uint16_t port) const noexcept {
    address a = *this;
    if (family() == AF_INET6) {
      reinterpret_cast<sockaddr_in6*>(&a.storage_)->sin6_port = htons(port);
    } else {
      reinterpret_cast<sockaddr_in*>(&a.storage_)->sin_port = htons(port);
    }
    return a;
  }

  /// Whether only this very host can reach it.
  [[nodiscard]] bool is_loopback() const noexcept {
    if (family() == AF_INET6) {
      auto const& six = as<sockaddr_in6>().sin6_addr;
      return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
    }
    return ntohl(as<sockaddr_in>().sin_addr.s_addr) >> 24 == 127;
  }

  /// Whether it is no host's, but stands for all that one has: 0.0.0.0, ::.
  [[nodiscard]] bool is_any() const noexcept {
    return family() == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&as<sockaddr_in6>().sin6_addr)
                                : as<sockaddr_in>().sin_addr.s_addr == htonl(INADDR_ANY);
  }
  /// Whether it holds for one link only, which has another number on each host.
  [[nodiscard]] bool is_link_local() const noexcept {
    return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&as<sockaddr_in6>().sin6_addr);
  }
  /// The number of that link here, if this is link-local and says it; otherwise 0.
  [[nodiscard]] std::uint32_t link() const noexcept { return is_link_local() ? as<sockaddr_in6>().sin6_scope_id : 0; }
  /// A link-local address of another host, as it is reached from this one by a link; any other one as it is.
  [[nodiscard]] address through(std::uint32_t link) const noexcept {
    address a = *this;
    if (is_link_local()) {
      reinterpret_cast<sockaddr_in6*>(&a.storage_)->sin6_scope_id = link;
    }
    return a;
  }

  /// The host as a number: "10.0.0.1", "fe80::1%eth0". An IPv4 address that IPv6 wraps is unwrapped.
  [[nodiscard]] std::string host() const {
    char text[NI_MAXHOST] = {};
    if (!*this || ::getnameinfo(data(), length_, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) {
      return "?";
    }
    std::string_view out = text;
    if (constexpr std::string_view wrap = "::ffff:"; out.starts_with(wrap) && out.find('.') != out.npos) {
      out.remove_prefix(wrap.size());
    }
    return std::string(out);
  }
  [[nodiscard]] std::string text() const { return format(host(), port()); }

 private:
  template <class S>
  [[nodiscard]] S const& as() const noexcept {
    return reinterpret_cast<S const&>(storage_);
  }

  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

/// The addresses of a host, in the order of preference; an empty host is any address of this one.
/// A name may need the name server, which has its own time limits; a number never does.
/// @throws error(failure::join) if there are none: no such host, or no name server
template <class = void>
[[nodiscard]] std::vector<address> resolve(std::string const& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (host.empty() ? AI_PASSIVE : 0);
  // "localhost" needs no lookup (RFC 6761, 6.3), and a bare system has none that knows it.
  bool const here = host.empty() || host == "localhost";
  addrinfo* found = nullptr;
  int const code = ::getaddrinfo(here ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) {
    throw error(failure::join, "cannot resolve host '" + host + "': " +
                                   (code == EAI_SYSTEM ? describe_errno(errno) : std::string(::gai_strerror(code))));
  }
  struct owner {
    addrinfo* list;
    ~owner() { ::freeaddrinfo(list); }
  } const owned{found};
  std::vector<address> out;
  for (addrinfo const* a = found; a != nullptr; a = a->ai_next) {
    out.emplace_back(a->ai_addr, a->ai_addrlen);
  }
  return out;
}

/// The own address from which packets go to `there`, port 0; the empty address without a route.
/// Sends nothing: connecting a datagram socket only looks up the route.
[[nodiscard]] inline address local_towards(address const& there) noexcept {
  descriptor const probe(::socket(there.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  address const target = there.port() != 0 ? there : there.with_port(9);  // some systems refuse port 0
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (!probe || ::connect(probe.get(), target.data(), target.size()) != 0 ||
      ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) {
    return {};
  }
  return address(reinterpret_cast<sockaddr const*>(&own), length).with_port(0);
}

/// An address of a network interface of this host that is up.
struct interface {
  std::string name;
  net::address at;
};

/// All of them: IPv4, IPv6, and at the end those of IPv6 that hold for one link only.
template <class = void>
[[nodiscard]] std::vector<interface> interfaces() {
  struct owner {
    ifaddrs* list = nullptr;
    ~owner() { ::freeifaddrs(list); }
  } found;
  std::vector<interface> out;
  if (::getifaddrs(&found.list) != 0) {
    return out;
  }
  for (int const kind : {0, 1, 2}) {
    for (ifaddrs const* i = found.list; i != nullptr; i = i->ifa_next) {
      int const family = kind == 0 ? AF_INET : AF_INET6;
      if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != family || (i->ifa_flags & IFF_UP) == 0) {
        continue;
      }
      std::size_t const length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      address const at(i->ifa_addr, static_cast<socklen_t>(length));
      if (at.is_link_local() == (kind == 2)) {
        out.push_back({i->ifa_name, at});
      }
    }
  }
  return out;
}

/// The number by which processes of this host reach each other: 127.0.0.1, or ::1 where there is no such.
/// @throws error(failure::join) if there is neither
template <class = void>
[[nodiscard]] std::string loopback_host() {
  for (char const* const host : {"127.0.0.1", "::1"}) {
    address const at = resolve(host, 0).front();
    descriptor const probe(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (probe && ::bind(probe.get(), at.data(), at.size()) == 0) {
      return host;
    }
  }
  throw error(failure::join,
              "this host has no loopback address, neither 127.0.0.1 nor ::1: its interface lo is down "
              "(ip link set lo up)");
}

/// The number by which other hosts are likely to reach this one: of the interface of the default route, IPv4 before
/// IPv6, or where there is none the only one that there is; a loopback address where there is no interface at all.
/// @throws error(failure::join) if there are several
template <class = void>
[[nodiscard]] std::string outward_host() {
  // Addresses set aside for documentation stand for anywhere; nothing is sent to them.
  for (char const* const anywhere : {"192.0.2.1", "2001:db8::1"}) {
    if (address const own = local_towards(resolve(anywhere, 9).front()); own && !own.is_any() && !own.is_loopback()) {
      return own.host();
    }
  }
  std::vector<interface> all;
  for (interface const& i : interfaces()) {
    if (!i.at.is_loopback() && (all.empty() || all.front().name != i.name)) {
      all.push_back(i);
    }
  }
  if (all.size() > 1) {
    throw error(failure::join, "there is no default route, and several interfaces: " + all[0].name + " (" +
                                   all[0].at.host() + "), " + all[1].name + " (" + all[1].at.host() +
                                   "); say with TUTTI_INTERFACE which one leads to the other hosts");
  }
  return all.empty() ? loopback_host() : all.front().at.host();
}

/// The address, port 0, that a user names by an interface of this host ("eth0", "ib0": the first in the order of
/// `interfaces`) or as a number ("10.0.0.1", "fe80::1%eth0").
/// @throws error(failure::join) that lists what there is, if this host has no such
template <class = void>
[[nodiscard]] address interface_address(std::string const& name) {
  in6_addr number;
  if (name.find('%') != name.npos || ::inet_pton(AF_INET, name.c_str(), &number) == 1 ||
      ::inet_pton(AF_INET6, name.c_str(), &number) == 1) {
    address const at = resolve(name, 0).front();
    descriptor const probe(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!probe || ::bind(probe.get(), at.data(), at.size()) == 0 || errno != EADDRNOTAVAIL) {
      return at;  // what else is wrong with it, its use will tell
    }
  }
  std::string there;
  for (interface const& i : interfaces()) {
    if (i.name == name) {
      return i.at;
    }
    there.append(there.empty() ? "" : ", ").append(i.name).append(" ").append(i.at.host());
  }
  throw error(failure::join, "no network interface of this host that is up has the name or address '" + name +
                                 "'; there are " + (there.empty() ? "none" : there));
}

}  // namespace tutti::detail::net
