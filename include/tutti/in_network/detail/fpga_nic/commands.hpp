// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

/// Payloads of packets between ranks and a device (docs/hardware/fpga-nic-protocol.md).
namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Makes the packets of the namespace udp usable without a qualifier.
using namespace udp;

inline constexpr unsigned max_workers_in_order = 8;  ///< workers whose contributions can be added in rank order
inline constexpr unsigned max_racks = max_workers_in_order;

enum class refusal : std::uint8_t {
  mismatch = 1,               ///< another worker, named in the header, made another call
  unknown = 2,                ///< the job or its sender is unknown: join again
  no_slots = 3,               ///< no memory for the job, or for a block of this key, or no slot of this number
  late = 4,                   ///< the slot has moved to a later sequence
  unsupported_operation = 5,  ///< the operation, or rank order of this many workers
  no_weights = 6,             ///< no block of this key and version
};
inline constexpr std::size_t refusal_count = 7;  ///< one more than the largest

/// True for a refused join that must be repeated with the fingerprint of the refusal.
[[nodiscard]] constexpr bool asks_for_proof(header const& h, refusal reason) noexcept {
  return h.kind == kind::refuse && reason == refusal::unknown && h.operation == network_operation::none &&
         !h.has(flag::weights) && h.fingerprint != 0;
}

/// Terms of membership: requested by a worker that joins, and granted by the device.
struct terms {
  static constexpr std::size_t bytes = terms_bytes;

  std::uint32_t lease_ms = 0;    ///< a worker that sends nothing for this long is forgotten
  std::uint16_t slot_count = 0;  ///< number for the whole job

  friend constexpr bool operator==(terms const&, terms const&) = default;
};

/// The rack of a member, and the number of racks.
struct rack_position {
  static constexpr std::size_t bytes = rack_position_bytes;

  std::uint8_t rack = 0;
  std::uint8_t racks = 0;  ///< 0: no racks

  [[nodiscard]] constexpr bool exists() const noexcept { return racks != 0; }
  friend constexpr bool operator==(rack_position const&, rack_position const&) = default;
};

/// Parameters of a weight update; they follow the elements of each contribution.
struct update_terms {
  static constexpr std::size_t bytes = update_terms_bytes;

  std::uint32_t key = 0;      ///< key of the block
  std::uint32_t version = 0;  ///< version of the block before the update
  std::uint32_t rate = 0;     ///< the bits of a float
  std::uint32_t decay = 0;    ///< the bits of a float

  friend constexpr bool operator==(update_terms const&, update_terms const&) = default;
};

constexpr void write(terms const& t, std::byte* target) noexcept {
  write_integer(target, t.lease_ms);
  write_integer(target + 4, t.slot_count);
}

constexpr void write(update_terms const& t, std::byte* target) noexcept {
  write_integer(target, t.key);
  write_integer(target + 4, t.version);
  write_integer(target + 8, t.rate);
  write_integer(target + 12, t.decay);
}

/// @pre the payload of a well-formed contribution to an update
[[nodiscard]] constexpr update_terms read_update_terms(std::span<std::byte const> payload) noexcept {
  std::byte const* const at = payload.data() + payload.size() - update_terms::bytes;
  return {read_integer<std::uint32_t>(at), read_integer<std::uint32_t>(at + 4), read_integer<std::uint32_t>(at + 8),
          read_integer<std::uint32_t>(at + 12)};
}
/// @pre the payload of a well-formed `join` or `grant`
[[nodiscard]] constexpr terms read_terms(std::span<std::byte const> payload) noexcept {
  return {read_integer<std::uint32_t>(payload.data()), read_integer<std::uint16_t>(payload.data() + 4)};
}
constexpr void write(rack_position const& at, std::byte* target) noexcept {
  write_integer(target, at.rack);
  write_integer(target + 1, at.racks);
}
/// @pre the payload of a well-formed `join` of a rack's member
[[nodiscard]] constexpr rack_position read_position(std::span<std::byte const> payload) noexcept {
  return {read_integer<std::uint8_t>(payload.data() + terms::bytes),
          read_integer<std::uint8_t>(payload.data() + terms::bytes + 1)};
}
/// @pre the payload of a well-formed `refuse`
[[nodiscard]] constexpr refusal read_refusal(std::span<std::byte const> payload) noexcept {
  return static_cast<refusal>(payload[0]);
}

}  // namespace tutti::detail::fpga_nic
