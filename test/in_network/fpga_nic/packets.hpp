// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Packets for the tests of devices.
namespace packets {

namespace udp = tutti::detail::udp;

[[nodiscard]] inline udp::header contribution(
    unsigned worker, unsigned workers, std::uint32_t sequence, std::size_t length,
    tutti::network_operation operation = tutti::network_operation::sum_float32) {
  udp::header h;
  h.kind = udp::kind::contribute;
  h.operation = operation;
  h.job = 0x1234;
  h.sequence = sequence;
  h.fingerprint = 0xabcd;
  h.length = static_cast<std::uint16_t>(length);
  h.worker = static_cast<std::uint8_t>(worker);
  h.workers = static_cast<std::uint8_t>(workers);
  return h;
}

/// A packet about a block of weights.
[[nodiscard]] inline udp::header weights_header(udp::kind kind, std::uint32_t number, std::uint32_t version,
                                                std::size_t length) {
  udp::header h = contribution(0, 1, number, length, tutti::network_operation::none);
  h.kind = kind;
  h.fingerprint = version;
  h.flags = udp::flag::weights;
  return h;
}

[[nodiscard]] inline std::vector<std::byte> serialize(udp::header const& h, std::span<std::byte const> payload,
                                                      udp::seal const& seal = {}) {
  std::vector<std::byte> bytes(udp::header_bytes + payload.size() + udp::tag_bytes);
  bytes.resize(seal.write(h, payload, bytes.data()));
  return bytes;
}

}  // namespace packets
