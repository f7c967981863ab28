// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::multicast {

/// Division of a message into packets: all are full, except that the last may be shorter.
struct packetization {
  static constexpr std::size_t max_bytes = udp::max_payload;

  std::size_t bytes = 0;

  [[nodiscard]] constexpr std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>((bytes + max_bytes - 1) / max_bytes);
  }
  [[nodiscard]] static constexpr std::size_t offset(std::uint32_t i) noexcept { return std::size_t{i} * max_bytes; }
  [[nodiscard]] constexpr std::size_t length(std::uint32_t i) const noexcept {
    return (std::min)(max_bytes, bytes - offset(i));
  }
};

}  // namespace tutti::detail::multicast
