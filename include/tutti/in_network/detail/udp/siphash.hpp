// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::detail::udp {

/// The key of authentication tags. (The key of weights is something else: the number of their block.)
using secret_key = std::array<std::byte, 16>;

/// SipHash-2-4 (Aumasson and Bernstein, 2012), a keyed hash: 64 bits that nobody can compute without the key.
[[nodiscard]] constexpr std::uint64_t siphash(secret_key const& k, std::span<std::byte const> message) noexcept {
  auto const k0 = read_integer<std::uint64_t>(k.data());
  auto const k1 = read_integer<std::uint64_t>(k.data() + 8);
  std::uint64_t v0 = k0 ^ 0x736f6d6570736575U;
  std::uint64_t v1 = k1 ^ 0x646f72616e646f6dU;
  std::uint64_t v2 = k0 ^ 0x6c7967656e657261U;
  std::uint64_t v3 = k1 ^ 0x7465646279746573U;
  auto const rounds = [&](int n) {
    for (; n > 0; --n) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  };
  auto const absorb = [&](std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  };
  std::size_t at = 0;
  for (; at + 8 <= message.size(); at += 8) {
    absorb(read_integer<std::uint64_t>(message.data() + at));
  }
  std::uint64_t last = std::uint64_t{message.size()} << 56;
  for (unsigned i = 0; at < message.size(); ++at, ++i) {
    last |= static_cast<std::uint64_t>(message[at]) << (8 * i);
  }
  absorb(last);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace tutti::detail::udp
