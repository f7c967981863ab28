// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::multicast {

/// A message in packets: all are full, but that the last may be shorter.
struct cut {
  static constexpr std::size_t most = udp::most_payload;

  std::size_t bytes = 0;

  [[nodiscard]] constexpr std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>((bytes + most - 1) / most);
  }
  [[nodiscard]] static constexpr std::size_t offset(std::uint32_t i) noexcept { return std::size_t{i} * most; }
  [[nodiscard]] constexpr std::size_t length(std::uint32_t i) const noexcept {
    return (std::min)(most, bytes - offset(i));
  }
};

}  // namespace tutti::detail::multicast
