// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/core/node_identity.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/in_network/detail/fpga_nic/in_process_network.hpp>
#include <tutti/in_network/detail/udp/in_process_port.hpp>
#include <tutti/in_network/detail/udp/key_file.hpp>
#include <tutti/in_network/detail/udp/networks.hpp>
#include <tutti/in_network/detail/udp/udp_port.hpp>
#include <tutti/in_network/extend/fpga_nic_options.hpp>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// The network of a job: a port, the addresses that ranks exchange, the device's address if rank 0 has one, and that
/// of this rank's rack if it has a device.
template <class N>
concept network = port<typename N::port> && requires(N& n, std::string const& text) {
  typename N::options;
  { n.own_port() } -> std::same_as<typename N::port&>;
  { n.endpoint_info() } -> std::same_as<std::string>;
  { n.rack() } -> std::convertible_to<std::string>;
  {
    N::identity_of(text)
  } -> std::same_as<std::string>;  // identity of a device, equal on all ranks that mean this device
  { n.address_of(text) } -> std::same_as<typename N::port::address>;
  { n.seal() } -> std::same_as<udp::seal const&>;
};

/// UDP: the device is a soft switch, or hardware.
class udp_network {
 public:
  using port = udp_port;
  using options = device_over_udp::options;

  template <locates_hosts M>
  udp_network(M const& meet, options const& settings)
      : seal_(seal_from(option_or_environment(settings.key_file, "TUTTI_FPGA_NIC_KEY"))),
        host_(host_of(meet)),
        zone_(zone_of(host_)),
        port_(local_address(on_one_host<M> ? std::string() : host_), settings.socket),
        device_(option_or_environment(settings.device, "TUTTI_FPGA_NIC")),
        rack_(option_or_environment(settings.rack, "TUTTI_FPGA_NIC_RACK")) {}

  [[nodiscard]] port& own_port() noexcept { return port_; }
  [[nodiscard]] udp::seal const& seal() const noexcept { return seal_; }
  [[nodiscard]] std::string endpoint_info() const {
    auto const number = net::resolve(host_, net::local_address(port_.descriptor()).port()).front();
    return number.with_zone(0).text();
  }
  /// The device's address, as rank 0 has it; empty if there is none.
  [[nodiscard]] std::string const& device() const noexcept { return device_; }
  /// The address of the device of this rank's rack; empty: `device`.
  [[nodiscard]] std::string const& rack() const noexcept { return rack_; }

  /// @throws error(failure::join) if the text is no address, or its host is unknown
  [[nodiscard]] endpoint address_of(std::string const& text) const {
    net::address const at = number_of(text);
    return endpoint(at.zone() == 0 ? at.with_zone(zone_) : at);
  }
  /// Identity of a device: its numeric address, because a name may stand for different ones; for loopback, with the
  /// host.
  [[nodiscard]] static std::string identity_of(std::string const& text) {
    net::address const at = number_of(text);
    return at.with_zone(0).text() + (at.is_loopback() ? " " + node_identity() : "");
  }

 private:
  [[nodiscard]] static std::string option_or_environment(std::string const& option, char const* variable) {
    char const* const from_environment = std::getenv(variable);
    return !option.empty() || from_environment == nullptr ? option : from_environment;
  }
  [[nodiscard]] static net::address number_of(std::string const& text) {
    host_port at;
    if (!net::parse(text, at)) {
      throw error(failure::join,
                  "fpga_nic: the address of a device must be host:port or [v6]:port, not \"" + text +
                      "\" (TUTTI_FPGA_NIC, TUTTI_FPGA_NIC_RACK, or the options network.device and network.rack)");
    }
    return net::resolve(at.host, at.port).front();
  }
  [[nodiscard]] static std::uint32_t zone_of(std::string const& host) { return net::resolve(host, 0).front().zone(); }
  [[nodiscard]] static udp::seal seal_from(std::string const& file) {
    return file.empty() ? udp::seal() : udp::seal(read_key(file));
  }
  [[nodiscard]] static net::address local_address(std::string const& host) {
    return host.empty() ? any_address(0) : net::interface_address(host);
  }

  udp::seal seal_;
  std::string host_;
  std::uint32_t zone_;  ///< link of `host_`, if the address is link-local
  port port_;
  std::string device_;
  std::string rack_;
};

/// A network within this process, with its device.
class in_process_link {
 public:
  using port = in_process_port;

  struct options {
    in_process_network* network = nullptr;
    bool has_device = true;
    std::vector<unsigned> racks{};  ///< by rank; empty: no racks
  };

  template <rendezvous M>
  in_process_link(M const& meet, options const& settings)
      : port_(expect(settings), meet.rank() + 1),
        seal_(settings.network->seal()),
        has_device_(settings.has_device),
        rack_(settings.racks.empty() ? std::string()
                                     : std::to_string(settings.network->rack(settings.racks[meet.rank()]))) {}

  [[nodiscard]] port& own_port() noexcept { return port_; }
  [[nodiscard]] udp::seal const& seal() const noexcept { return seal_; }
  [[nodiscard]] std::string endpoint_info() const { return std::to_string(port_.own_address()); }
  [[nodiscard]] std::string device() const {
    return has_device_ ? std::to_string(in_process_network::device) : std::string();
  }
  [[nodiscard]] std::string const& rack() const noexcept { return rack_; }
  [[nodiscard]] static std::string identity_of(std::string const& text) { return text; }
  [[nodiscard]] static std::uint32_t address_of(std::string const& text) {
    return word_reader(text).number<std::uint32_t>();
  }

 private:
  static in_process_network& expect(options const& settings) {
    expects(settings.network != nullptr,
            "fpga_nic: options::network is null; give the in_process_network of this process");
    return *settings.network;
  }

  port port_;
  udp::seal seal_;
  bool has_device_;
  std::string rack_;
};

}  // namespace tutti::detail::fpga_nic

namespace tutti::inline v0_1_0::detail::udp {

template <>
struct network_of<device_over_udp> {
  using type = fpga_nic::udp_network;
};

}  // namespace tutti::detail::udp
