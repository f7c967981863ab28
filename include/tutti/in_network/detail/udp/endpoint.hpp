// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/address.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>

namespace tutti::inline v0_1_0::detail::udp {

/// The address of a UDP port: an IPv6 address, or an IPv4 one mapped to IPv6, and a port. Small, and fast to compare;
/// `net::address` is its readable form.
class endpoint {
 public:
  endpoint() noexcept = default;
  explicit endpoint(net::address const& address) noexcept : endpoint(address.data()) {}
  explicit endpoint(sockaddr const* address) noexcept {
    if (address->sa_family == AF_INET) {
      sockaddr_in four;
      std::memcpy(&four, address, sizeof four);
      std::memcpy(host_.data(), ipv4_prefix.data(), ipv4_prefix.size());
      std::memcpy(host_.data() + ipv4_prefix.size(), &four.sin_addr, sizeof four.sin_addr);
      port_ = four.sin_port;
    } else if (address->sa_family == AF_INET6) {
      sockaddr_in6 six;
      std::memcpy(&six, address, sizeof six);
      std::memcpy(host_.data(), &six.sin6_addr, host_.size());
      link_ = six.sin6_scope_id;
      port_ = six.sin6_port;
    }
  }

  /// The address for a socket of this family. @pre AF_INET only for an IPv4 address
  [[nodiscard]] net::address for_family(int family) const noexcept {
    if (family == AF_INET) {
      sockaddr_in four{};
      four.sin_family = AF_INET;
      four.sin_port = port_;
      std::memcpy(&four.sin_addr, host_.data() + ipv4_prefix.size(), sizeof four.sin_addr);
      return {reinterpret_cast<sockaddr const*>(&four), sizeof four};
    }
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = port_;
    six.sin6_scope_id = link_;
    std::memcpy(&six.sin6_addr, host_.data(), host_.size());
    return {reinterpret_cast<sockaddr const*>(&six), sizeof six};
  }
  [[nodiscard]] bool is_ipv4() const noexcept {
    return std::memcmp(host_.data(), ipv4_prefix.data(), ipv4_prefix.size()) == 0;
  }

  /// Host, link and port as bytes, for hashing.
  [[nodiscard]] std::array<std::byte, 22> bytes() const noexcept {
    std::array<std::byte, 22> bytes_of_address;
    std::memcpy(bytes_of_address.data(), host_.data(), host_.size());
    std::memcpy(bytes_of_address.data() + host_.size(), &link_, sizeof link_);
    std::memcpy(bytes_of_address.data() + host_.size() + sizeof link_, &port_, sizeof port_);
    return bytes_of_address;
  }
  /// True if both are on one host: an IPv6 host may have all addresses of its /64, but not on its link.
  [[nodiscard]] bool is_on_host_of(endpoint const& other) const noexcept {
    bool const is_of_link = host_[0] == 0xfe && (host_[1] & 0xc0U) == 0x80;
    bool const is_whole = is_ipv4() || other.is_ipv4() || is_of_link;
    return std::memcmp(host_.data(), other.host_.data(), is_whole ? 16 : 8) == 0;
  }

  friend bool operator==(endpoint const&, endpoint const&) = default;

 private:
  static constexpr std::array<std::uint8_t, 12> ipv4_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

  std::array<std::uint8_t, 16> host_{};
  std::uint32_t link_ = 0;
  in_port_t port_ = 0;  ///< in network byte order
};

}  // namespace tutti::detail::udp
