// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/operation.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

/// Packets between ranks and a device (docs/hardware/fpga-nic-protocol.md), or among ranks. A packet is a header of
/// 22 bytes and a payload, little-endian; a sealed one ends with a tag (seal.hpp).
namespace tutti::inline v0_1_0::detail::udp {

inline constexpr std::uint8_t protocol_version = 1;
inline constexpr std::size_t header_bytes = 22;
inline constexpr std::size_t max_payload = 1024;  ///< bytes of elements
inline constexpr std::size_t block_bytes = 1024;  ///< bytes of a block of weights
inline constexpr std::size_t tag_bytes = 8;
// Payload lengths of commands to a device; fpga_nic/commands.hpp parses the payloads.
inline constexpr std::size_t terms_bytes = 6;
inline constexpr std::size_t rack_position_bytes = 2;
inline constexpr std::size_t update_terms_bytes = 16;  ///< follow the elements
inline constexpr unsigned max_workers = 255;

/// The purpose of a packet. Three kinds ask about a sequence:
///
///     query     a member asks a server about its own: answered by `result`, or by `missing` while there is none
///     missing   a server names the contributors so far: as the answer to a query, or to make the others contribute
///     ask       a rank asks a rank, without a server: answered by `progress`
enum class kind : std::uint8_t {
  join = 1,        ///< payload: `terms`; with `flag::of_racks` also a `rack_position`
  grant = 2,       ///< payload: `terms`, as granted
  leave = 3,       ///< a worker leaves
  end = 4,         ///< worker 0 ends the job for all
  contribute = 5,  ///< payload: elements, or none
  result = 6,      ///< payload: elements, or none for a worker that wants none
  query = 7,       ///< no payload; with `flag::weights`: about a block
  missing = 8,     ///< payload: a bitmap, set for workers that have contributed; none if nothing is known
  supply = 9,      ///< payload: the result, from a worker that has it; with `flag::weights`: a block
  refuse = 10,     ///< payload: a `refusal`
  // Kinds between ranks, of a group (docs/hardware/udp-multicast.md) or of racks; no device handles them:
  share = 13,     ///< payload: elements, to the group
  progress = 14,  ///< payload: a bitmap, set for packets that the sender lacks; bit 0 is `sequence`
  ask = 15,       ///< in a group: asks for `progress`, or probes; between racks: asks whether a worker has contributed
};

namespace flag {
inline constexpr std::uint16_t phase = 1U << 0;          ///< parity of sequence / slots: version of the slot
inline constexpr std::uint16_t in_rank_order = 1U << 1;  ///< combine in rank order
/// the sender wants to know that there is a result, not its elements
inline constexpr std::uint16_t no_data = 1U << 2;
inline constexpr std::uint16_t tag = 1U << 3;         ///< a tag follows the payload
inline constexpr std::uint16_t congestion = 1U << 4;  ///< packets from the receiver arrived with ECN marks
inline constexpr std::uint16_t weights =
    1U << 5;  ///< about a block of weights: sequence is its key, fingerprint its version
inline constexpr std::uint16_t of_racks = 1U << 6;  ///< a join of a rack's member; in answers: workers are racks
inline constexpr std::uint16_t mask = (1U << 7) - 1;
}  // namespace flag

struct header {
  udp::kind kind{};
  network_operation operation = network_operation::none;
  std::uint32_t job = 0;          ///< number of the job
  std::uint32_t sequence = 0;     ///< number within the slot's lane, counted by the workers
  std::uint32_t fingerprint = 0;  ///< fingerprint of the call
  std::uint16_t slot = 0;
  std::uint16_t length = 0;  ///< bytes of the payload
  std::uint8_t worker = 0;   ///< number of the sender, or of the worker that is meant
  std::uint8_t workers = 0;  ///< in a join: members of the job; in a contribution: workers of the operation
  std::uint16_t flags = 0;
  /// Wraps of the sequence, which the tag covers. Not sent: both sides count. 0 where they do not.
  std::uint32_t wrap_count = 0;

  [[nodiscard]] constexpr bool has(std::uint16_t f) const noexcept { return (flags & f) != 0; }
  friend constexpr bool operator==(header const&, header const&) = default;
};

inline constexpr std::size_t max_packet = header_bytes + max_payload + update_terms_bytes + tag_bytes;

/// Header and payload of a well-formed packet.
struct packet {
  header head;
  std::span<std::byte const> payload;
};

template <std::unsigned_integral T>
constexpr void write_integer(std::byte* target, T value) noexcept {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    target[i] = static_cast<std::byte>(value >> (8 * i));
  }
}
template <std::unsigned_integral T>
[[nodiscard]] constexpr T read_integer(std::byte const* source) noexcept {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(source[i]) << (8 * i)));
  }
  return value;
}

constexpr void write(header const& h, std::byte* target) noexcept {
  target[0] = static_cast<std::byte>(protocol_version << 4 | static_cast<unsigned>(h.kind));
  target[1] = static_cast<std::byte>(h.operation);
  write_integer(target + 2, h.job);
  write_integer(target + 6, h.sequence);
  write_integer(target + 10, h.fingerprint);
  write_integer(target + 14, h.slot);
  write_integer(target + 16, h.length);
  write_integer(target + 18, h.worker);
  write_integer(target + 19, h.workers);
  write_integer(target + 20, h.flags);
}

/// Bytes of a bitmap of workers.
[[nodiscard]] constexpr std::size_t bitmap_bytes(unsigned workers) noexcept {
  return (workers + 7) / 8;
}

/// True if the operation combines elements; otherwise it only copies them.
[[nodiscard]] constexpr bool combines(network_operation o) noexcept {
  return o == network_operation::sum_float32 || o == network_operation::max_float32 ||
         o == network_operation::saturating_sum_int32 || o == network_operation::update;
}

/// True if the terms of an update follow the elements.
[[nodiscard]] constexpr bool has_terms(header const& h) noexcept {
  return h.kind == kind::contribute && h.operation == network_operation::update;
}

/// True if a packet of this kind may have a payload of this length.
[[nodiscard]] constexpr bool fits(header const& h) noexcept {
  if (has_terms(h)) {
    return !h.has(flag::weights) && h.length == block_bytes + update_terms_bytes;
  }
  if (h.has(flag::weights) && h.kind != kind::query && h.kind != kind::refuse) {
    bool const is_all = h.length == block_bytes;
    return (h.kind == kind::supply && is_all) || (h.kind == kind::result && (is_all || h.length == 0));
  }
  switch (h.kind) {
    case kind::join:
      return h.length == terms_bytes + (h.has(flag::of_racks) ? rack_position_bytes : 0);
    case kind::grant:
      return h.length == terms_bytes;
    case kind::leave:
    case kind::end:
    case kind::query:
    case kind::ask:
      return h.length == 0;
    case kind::contribute:
    case kind::result:
    case kind::supply:
      return h.length <= max_payload && (!combines(h.operation) || h.length % 4 == 0);
    case kind::missing:
      return h.length == 0 || h.length == bitmap_bytes(h.workers);
    case kind::refuse:
      return h.length == 1;
    case kind::share:
    case kind::progress:
      return h.length <= max_payload;
  }
  return false;
}

/// Parses a packet, and checks its frame: version, kind, lengths, flags, numbers. False if it is malformed.
[[nodiscard]] constexpr bool parse(std::span<std::byte const> bytes, packet& target) noexcept {
  if (bytes.size() < header_bytes) {
    return false;
  }
  std::byte const* const at = bytes.data();
  auto const first = read_integer<std::uint8_t>(at);
  header& h = target.head;
  h.kind = static_cast<kind>(first & 15U);
  h.operation = static_cast<network_operation>(at[1]);
  h.job = read_integer<std::uint32_t>(at + 2);
  h.sequence = read_integer<std::uint32_t>(at + 6);
  h.fingerprint = read_integer<std::uint32_t>(at + 10);
  h.slot = read_integer<std::uint16_t>(at + 14);
  h.length = read_integer<std::uint16_t>(at + 16);
  h.worker = read_integer<std::uint8_t>(at + 18);
  h.workers = read_integer<std::uint8_t>(at + 19);
  h.flags = read_integer<std::uint16_t>(at + 20);
  h.wrap_count = 0;
  std::size_t const tag = h.has(flag::tag) ? tag_bytes : 0;
  if (first >> 4 != protocol_version || (h.flags & ~flag::mask) != 0 || h.worker >= h.workers || !fits(h) ||
      bytes.size() != header_bytes + h.length + tag) {
    return false;
  }
  target.payload = bytes.subspan(header_bytes, h.length);
  return true;
}

}  // namespace tutti::detail::udp
