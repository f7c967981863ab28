// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tutti::inline v0_1_0::detail::verbs {

enum class head_kind : std::uint8_t {
  message = 1,   ///< eager: the bytes follow
  long_message,  ///< rendezvous: a `message_place` follows, the source of READs
  lent_message,  ///< loan: a `message_place` and a `return_place` follow
  credit         ///< credits alone
};

/// Head of each SEND. It is short, because a device in software computes a checksum over each byte.
struct message_head {
  head_kind kind;
  std::uint8_t lane;
  std::uint16_t released_count = 0;  ///< credits: messages of this lane that the sender has released, in total
  std::uint32_t check = 0;           ///< checksum of the call; equal at both ends
};
static_assert(sizeof(message_head) == 8);

/// Place of a long message.
struct message_place {
  std::uint64_t bytes;
  std::uint64_t address;
  std::uint32_t key;
  std::uint32_t padding = 0;
};
static_assert(sizeof(message_place) == 24);

/// Place that the receiver may write to once, with as many bytes as the message has.
struct return_place {
  std::uint64_t address;
  std::uint32_t key;
  std::uint32_t padding = 0;
};
static_assert(sizeof(return_place) == 16);

/// Immediate data of a result that is written to a return place: the lane, and the credits of that lane.
struct return_note {
  std::uint32_t lane;
  std::uint16_t released_count;

  [[nodiscard]] constexpr std::uint32_t pack() const noexcept { return lane << 16 | released_count; }
  [[nodiscard]] static constexpr return_note unpack(std::uint32_t note) noexcept {
    return {note >> 16, static_cast<std::uint16_t>(note)};
  }
};

/// Reads a value from unaligned bytes.
template <class T>
[[nodiscard]] T read_at(std::byte const* place) noexcept {
  T value{};
  std::memcpy(static_cast<void*>(&value), place, sizeof value);
  return value;
}

/// Credits of a lane: messages that a peer may be sent before it releases one.
inline constexpr std::uint32_t slot_count = 4;
inline constexpr std::size_t slot_bytes = 8192;
/// Size from which messages are a rendezvous.
inline constexpr std::size_t rendezvous_threshold = slot_bytes - sizeof(message_head);
/// Size up to which a result may be written to the peer. Measured on Soft-RoCE, whose WRITEs are slower than its
/// READs, but need no message before them.
inline constexpr std::size_t max_loan = std::size_t{128} << 10;

/// Messages that a peer can send between two polls: the messages of each lane, and as many credit messages, because
/// each may return one credit.
inline constexpr std::uint32_t receive_count = lane_count * 2 * slot_count;

/// True if the body fits the kind of its head.
[[nodiscard]] inline bool is_well_formed(head_kind kind, std::byte const* body, std::size_t bytes) noexcept {
  switch (kind) {
    case head_kind::message:
      return true;
    case head_kind::long_message:
      return bytes == sizeof(message_place) && read_at<message_place>(body).bytes >= rendezvous_threshold;
    case head_kind::lent_message:
      return bytes == sizeof(message_place) + sizeof(return_place) &&
             read_at<message_place>(body).bytes >= rendezvous_threshold;
    case head_kind::credit:
      return bytes == 0;
  }
  return false;
}

}  // namespace tutti::detail::verbs
