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

namespace nic = tutti::detail::fpga_nic;

[[nodiscard]] inline nic::header contribution(
    unsigned worker, unsigned workers, std::uint32_t sequence, std::size_t length,
    tutti::network_operation operation = tutti::network_operation::sum_float32) {
  nic::header h;
  h.kind = nic::kind::contribute;
  h.operation = operation;
  h.job = 0x1234;
  h.sequence = sequence;
  h.fingerprint = 0xabcd;
  h.length = static_cast<std::uint16_t>(length);
  h.worker = static_cast<std::uint8_t>(worker);
  h.workers = static_cast<std::uint8_t>(workers);
  return h;
}

/// What is about a block of weights.
[[nodiscard]] inline nic::header about_weights(nic::kind kind, std::uint32_t number, std::uint32_t version,
                                               std::size_t length) {
  nic::header h = contribution(0, 1, number, length, tutti::network_operation::none);
  h.kind = kind;
  h.fingerprint = version;
  h.flags = nic::flag::keyed;
  return h;
}

[[nodiscard]] inline std::vector<std::byte> written(nic::header const& h, std::span<std::byte const> payload,
                                                    nic::seal const& seal = {}) {
  std::vector<std::byte> bytes(nic::header_bytes + payload.size() + nic::tag_bytes);
  bytes.resize(seal.write(h, payload, bytes.data()));
  return bytes;
}

}  // namespace packets
