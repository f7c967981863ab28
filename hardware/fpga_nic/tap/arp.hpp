// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../model/frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

/// Address resolution of IPv4, RFC 826.
namespace arp {

inline constexpr std::size_t bytes = 42;
using reply = std::array<std::byte, frame::min_size>;

/// Answers a request for the MAC address of `own`. False if the frame is no such request.
[[nodiscard]] inline bool answer(std::span<std::byte const> query, frame::place const& station,
                                 reply& response) noexcept {
  constexpr std::array<std::uint8_t, 8> request{0, 1, 8, 0, 6, 4, 0, 1};  // Ethernet, IPv4, request
  if (query.size() < bytes || frame::read_integer<std::uint16_t>(query.data() + 12) != frame::type_arp ||
      std::memcmp(query.data() + 14, request.data(), request.size()) != 0 ||
      frame::read_integer<std::uint32_t>(query.data() + 38) != station.ip) {
    return false;
  }
  response = {};
  std::byte* const data = response.data();
  std::memcpy(data, query.data() + 22, 6);
  std::memcpy(data + 6, station.mac.data(), 6);
  std::memcpy(data + 12, query.data() + 12, 8);
  frame::write_integer<std::uint16_t>(data + 20, 2);
  std::memcpy(data + 22, station.mac.data(), 6);
  frame::write_integer(data + 28, station.ip);
  std::memcpy(data + 32, query.data() + 22, 10);
  return true;
}

}  // namespace arp
