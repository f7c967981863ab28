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
using reply = std::array<std::byte, frame::least>;

/// Answers a request for the MAC address of `own`. False if the frame is no such request.
[[nodiscard]] inline bool answer(std::span<std::byte const> asked, frame::place const& own, reply& to) noexcept {
  constexpr std::array<std::uint8_t, 8> request{0, 1, 8, 0, 6, 4, 0, 1};  // Ethernet, IPv4, request
  if (asked.size() < bytes || frame::read_integer<std::uint16_t>(asked.data() + 12) != frame::type_arp ||
      std::memcmp(asked.data() + 14, request.data(), request.size()) != 0 ||
      frame::read_integer<std::uint32_t>(asked.data() + 38) != own.ip) {
    return false;
  }
  to = {};
  std::byte* const at = to.data();
  std::memcpy(at, asked.data() + 22, 6);
  std::memcpy(at + 6, own.mac.data(), 6);
  std::memcpy(at + 12, asked.data() + 12, 8);
  frame::write_integer<std::uint16_t>(at + 20, 2);
  std::memcpy(at + 22, own.mac.data(), 6);
  frame::write_integer(at + 28, own.ip);
  std::memcpy(at + 32, asked.data() + 22, 10);
  return true;
}

}  // namespace arp
