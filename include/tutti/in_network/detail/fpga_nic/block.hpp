// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Room for the elements of a packet, aligned for them. (A payload lies behind 22 bytes, where no float may lie.)
struct alignas(64) block {
  std::array<std::byte, udp::max_payload> bytes{};

  void copy(std::span<std::byte const> from) noexcept {
    if (!from.empty()) {
      std::memcpy(bytes.data(), from.data(), from.size());
    }
  }

  friend bool operator==(block const& a, block const& b) noexcept {
    return std::memcmp(a.bytes.data(), b.bytes.data(), udp::max_payload) == 0;
  }
};

}  // namespace tutti::detail::fpga_nic
