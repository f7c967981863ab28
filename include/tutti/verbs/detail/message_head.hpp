// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tutti::inline v0_1_0::detail::verbs {

enum class head_kind : std::uint8_t {
  message = 1,   ///< its bytes follow
  long_message,  ///< its bytes are to be read: a `message_place` follows
  lent_message,  ///< the same, and what is made of them may be written: a `lent_room`, too
  released       ///< nothing but how much has been released
};

/// What each SEND begins with. It is short: a device in software computes a checksum over each byte.
struct message_head {
  head_kind kind;
  std::uint8_t lane;
  std::uint16_t released = 0;  ///< how many messages of this lane its sender has released, counted from the first
  std::uint32_t check = 0;     ///< what both ends must agree on
};
static_assert(sizeof(message_head) == 8);

/// Where a long message is.
struct message_place {
  std::uint64_t bytes;
  std::uint64_t address;
  std::uint32_t key;
  std::uint32_t unused = 0;
};
static_assert(sizeof(message_place) == 24);

/// Where the receiver may write as many bytes, once.
struct lent_room {
  std::uint64_t address;
  std::uint32_t key;
  std::uint32_t unused = 0;
};
static_assert(sizeof(lent_room) == 16);

/// What comes with bytes that are given back, and no head: the lane, and what has been released of it.
struct return_note {
  std::uint32_t lane;
  std::uint16_t released;

  [[nodiscard]] constexpr std::uint32_t pack() const noexcept { return lane << 16 | released; }
  [[nodiscard]] static constexpr return_note unpack(std::uint32_t note) noexcept {
    return {note >> 16, static_cast<std::uint16_t>(note)};
  }
};

/// Something that lies there as bytes.
template <class T>
[[nodiscard]] T read_at(std::byte const* place) noexcept {
  T value{};
  std::memcpy(static_cast<void*>(&value), place, sizeof value);
  return value;
}

/// How many messages of a lane a peer may be sent that it has not released.
inline constexpr std::uint32_t slot_count = 4;
inline constexpr std::size_t slot_bytes = 8192;
/// From this size on messages are read by their receiver.
inline constexpr std::size_t read_from = slot_bytes - sizeof(message_head);
/// Up to this size what is made of a message may be written back. As measured on Soft-RoCE, which writes slower than it
/// reads, but needs no message before.
inline constexpr std::size_t most_lent = std::size_t{128} << 10;

/// All that a peer can have sent before this rank looks: of each lane its messages, and as many releases, for each of
/// them may tell of one message.
inline constexpr std::uint32_t receives = lane_count * 2 * slot_count;

/// Whether as many bytes follow a head as must.
[[nodiscard]] inline bool is_sound(head_kind kind, std::byte const* body, std::size_t bytes) noexcept {
  switch (kind) {
    case head_kind::message:
      return true;
    case head_kind::long_message:
      return bytes == sizeof(message_place) && read_at<message_place>(body).bytes >= read_from;
    case head_kind::lent_message:
      return bytes == sizeof(message_place) + sizeof(lent_room) && read_at<message_place>(body).bytes >= read_from;
    case head_kind::released:
      return bytes == 0;
  }
  return false;
}

}  // namespace tutti::detail::verbs
