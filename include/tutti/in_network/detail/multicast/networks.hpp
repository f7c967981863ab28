// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/in_network/detail/udp/in_process_port.hpp>
#include <tutti/in_network/detail/udp/networks.hpp>
#include <tutti/in_network/detail/udp/udp_port.hpp>
#include <tutti/in_network/extend/udp_multicast_options.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace tutti::inline v0_1_0::detail::multicast {

/// The network of a group: a port, the addresses that ranks exchange, and a multicast group that rank 0 chooses.
/// `join` returns the reason why a rank cannot hear the group, or "".
template <class N>
concept network = udp::port<typename N::port> &&
                  requires(N& n, N const& c, std::string const& text, std::span<std::string const> endpoints) {
                    typename N::options;
                    { n.own_port() } -> std::same_as<typename N::port&>;
                    { c.endpoint_info() } -> std::same_as<std::string>;
                    { c.room() } -> std::same_as<std::uint32_t>;  // packets that the socket buffers until they are read
                    { c.choose_group(std::uint32_t{}) } -> std::same_as<std::string>;
                    { n.join(text, endpoints) } -> std::same_as<std::string>;
                    { c.address_of(text) } -> std::same_as<typename N::port::address>;
                  };

/// UDP and IP multicast, over the interface through which other ranks reach this host.
class udp_network {
 public:
  using port = udp::udp_port;
  using options = group_over_udp::options;

  template <locates_hosts M>
  udp_network(M const& meet, options const& settings) : udp_network(udp::host_of(meet), settings) {}
  TUTTI_DECL udp_network(std::string host, options const& settings);

  [[nodiscard]] port& own_port() noexcept { return port_; }
  [[nodiscard]] std::string const& host() const noexcept { return host_; }
  [[nodiscard]] TUTTI_DECL std::string endpoint_info() const;
  [[nodiscard]] TUTTI_DECL std::uint32_t room() const noexcept;
  /// @param nonce number of the job
  [[nodiscard]] TUTTI_DECL std::string choose_group(std::uint32_t nonce) const;
  /// @param endpoints endpoint information of all ranks
  /// @throws error(failure::join) if `group` is no multicast address
  [[nodiscard]] TUTTI_DECL std::string join(std::string const& group, std::span<std::string const> endpoints);
  [[nodiscard]] TUTTI_DECL udp::endpoint address_of(std::string const& text) const;

 private:
  options options_;
  std::string host_;
  net::address interface_;
  std::uint32_t link_;  ///< index of its interface on this host
  port port_;
};

/// A network within this process.
class in_process_link {
 public:
  using port = udp::in_process_port;

  struct options {
    udp::in_process_medium* network = nullptr;
    bool hears_group = true;
  };

  template <rendezvous M>
  in_process_link(M const& meet, options const& settings)
      : port_(expect(settings), meet.rank() + 1), hears_group_(settings.hears_group) {}

  [[nodiscard]] port& own_port() noexcept { return port_; }
  [[nodiscard]] std::string endpoint_info() const { return std::to_string(port_.own_address()); }
  [[nodiscard]] static std::uint32_t room() noexcept { return (std::numeric_limits<std::uint32_t>::max)(); }
  [[nodiscard]] static std::string choose_group(std::uint32_t) { return std::to_string(udp::in_process_medium::group); }
  [[nodiscard]] std::string join(std::string const&, std::span<std::string const>) const {
    return hears_group_ ? "" : "is told to hear no group";
  }
  [[nodiscard]] static std::uint32_t address_of(std::string const& text) {
    return word_reader(text).number<std::uint32_t>();
  }

 private:
  static udp::in_process_medium& expect(options const& settings) {
    expects(settings.network != nullptr,
            "udp_multicast: options::network is null; give the in_process_medium of this process");
    return *settings.network;
  }

  port port_;
  bool hears_group_;
};

}  // namespace tutti::detail::multicast

namespace tutti::inline v0_1_0::detail::udp {

template <>
struct network_of<group_over_udp> {
  using type = multicast::udp_network;
};

}  // namespace tutti::detail::udp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/in_network/detail/multicast/networks.ipp>
#endif
