// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

/// Payloads of packets between ranks and a device (docs/hardware/fpga-nic-protocol.md).
namespace tutti::inline v0_1_0::detail::fpga_nic {

/// The device speaks in the packets of the room udp.
using namespace udp;

inline constexpr unsigned max_workers_in_order = 8;  ///< whose contributions are added in rank order
inline constexpr unsigned max_racks = max_workers_in_order;

enum class refusal : std::uint8_t {
  mismatch = 1,     ///< another worker, named in the header, has said something else
  unknown = 2,      ///< the job, or the sender in it: join again
  no_slots = 3,     ///< there is no memory for the job, or a block of this key, or no slot of this number
  late = 4,         ///< the slot has gone on to a later sequence
  unsupported = 5,  ///< the operation, or rank order of so many
  no_weights = 6,   ///< there is no block of this key, or it is of another version
};
inline constexpr std::size_t refusals = 7;  ///< one more than the largest

/// True for a refusal of a join that asks for it again, with the fingerprint that the refusal has.
[[nodiscard]] constexpr bool asks_for_proof(header const& h, refusal why) noexcept {
  return h.kind == kind::refuse && why == refusal::unknown && h.operation == network_operation::none &&
         !h.has(flag::keyed) && h.fingerprint != 0;
}

/// The request of a worker that joins, and what it is granted.
struct terms {
  static constexpr std::size_t bytes = terms_bytes;

  std::uint32_t lease_ms = 0;    ///< a worker that sends nothing for this long is forgotten
  std::uint16_t slot_count = 0;  ///< of the whole job

  friend constexpr bool operator==(terms const&, terms const&) = default;
};

/// The rack of a member, where each has a switch, and the number of racks.
struct rack_place {
  static constexpr std::size_t bytes = rack_place_bytes;

  std::uint8_t rack = 0;
  std::uint8_t racks = 0;  ///< 0: there are none

  [[nodiscard]] constexpr bool exists() const noexcept { return racks != 0; }
  friend constexpr bool operator==(rack_place const&, rack_place const&) = default;
};

/// The use of the sum of an update's contributions: behind the elements in the payload of each.
struct update_terms {
  static constexpr std::size_t bytes = update_terms_bytes;

  std::uint32_t key = 0;      ///< of the block
  std::uint32_t version = 0;  ///< of the block before the update
  std::uint32_t rate = 0;     ///< the bits of a float
  std::uint32_t decay = 0;    ///< the bits of a float

  friend constexpr bool operator==(update_terms const&, update_terms const&) = default;
};

constexpr void write(terms const& t, std::byte* to) noexcept {
  put(to, t.lease_ms);
  put(to + 4, t.slot_count);
}

constexpr void write(update_terms const& t, std::byte* to) noexcept {
  put(to, t.key);
  put(to + 4, t.version);
  put(to + 8, t.rate);
  put(to + 12, t.decay);
}

/// @pre the payload of a well-formed contribution to an update
[[nodiscard]] constexpr update_terms read_update_terms(std::span<std::byte const> payload) noexcept {
  std::byte const* const at = payload.data() + payload.size() - update_terms::bytes;
  return {get<std::uint32_t>(at), get<std::uint32_t>(at + 4), get<std::uint32_t>(at + 8), get<std::uint32_t>(at + 12)};
}
/// @pre the payload of a well-formed `join` or `joined`
[[nodiscard]] constexpr terms read_terms(std::span<std::byte const> payload) noexcept {
  return {get<std::uint32_t>(payload.data()), get<std::uint16_t>(payload.data() + 4)};
}
constexpr void write(rack_place const& at, std::byte* to) noexcept {
  put(to, at.rack);
  put(to + 1, at.racks);
}
/// @pre the payload of a well-formed `join` of a rack's member
[[nodiscard]] constexpr rack_place read_place(std::span<std::byte const> payload) noexcept {
  return {get<std::uint8_t>(payload.data() + terms::bytes), get<std::uint8_t>(payload.data() + terms::bytes + 1)};
}
/// @pre the payload of a well-formed `refuse`
[[nodiscard]] constexpr refusal read_refusal(std::span<std::byte const> payload) noexcept {
  return static_cast<refusal>(payload[0]);
}

}  // namespace tutti::detail::fpga_nic
