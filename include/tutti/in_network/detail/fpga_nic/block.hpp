// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Elements of a packet, aligned. (In a packet they follow 22 bytes, so floats there are misaligned.)
struct alignas(64) block {
  std::array<std::byte, udp::max_payload> bytes{};

  void copy(std::span<std::byte const> source) noexcept {
    if (!source.empty()) {
      std::memcpy(bytes.data(), source.data(), source.size());
    }
  }

  friend bool operator==(block const& a, block const& b) noexcept {
    return std::memcmp(a.bytes.data(), b.bytes.data(), udp::max_payload) == 0;
  }
};

}  // namespace tutti::detail::fpga_nic
