// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/address.hpp>
#include <tutti/in_network/detail/fpga_nic/summing_switch.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

/// Options of the command line.
struct options {
  tutti::detail::net::address address{};
  std::optional<tutti::detail::net::address> uplink{};
  tutti::detail::fpga_nic::switch_limits limits{};
  tutti::detail::udp::seal seal{};
  bool offload = true;
  double loss = 0;
  std::chrono::nanoseconds delay{};
  double rate = 0;  ///< packets served a second; 0: no limit
  std::uint64_t seed = 1;
  std::chrono::seconds report{};  ///< 0: at the end, and on SIGUSR1
};

/// Ends the program if the command line asks for help or is wrong. @throws tutti::error, std::runtime_error
[[nodiscard]] options read_options(int argc, char** argv);
