// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/error.hpp>
#include <tutti/core/message.hpp>
#include <tutti/core/operation.hpp>

#include <cstring>
#include <span>
#include <type_traits>

namespace tutti::net {

/// What follows on a connection between two ranks.
enum class frame_kind : std::uint8_t {
  piece = 1,  ///< `part` bytes of a message of `bytes` bytes; they follow
  credit,     ///< pieces of `bytes` bytes, headers included, have been taken
  revoke,     ///< the epoch has failed; `bytes` is the packed fault
  bye,        ///< no more messages, and none is read
  inquiry,    ///< in which call is the peer on this lane?
  status,     ///< the answer: `number` and `what`; `bytes` is 0 if it has not been in any
};

/// Every frame begins with this. It carries the whole call, so that a receiver that expects another
/// one can show both. Byte order and layout are the host's: the handshake refuses other hosts.
struct frame {
  static constexpr std::uint32_t expected_mark = 0x74757474;

  std::uint32_t mark = expected_mark;
  frame_kind kind{};
  std::uint8_t lane = 0;
  std::uint16_t unused = 0;
  std::uint32_t number = 0;  ///< of the stream
  std::uint32_t part = 0;
  std::uint64_t bytes = 0;
  call what{};

  /// Whether a peer can have sent it.
  [[nodiscard]] constexpr bool sound() const noexcept {
    return mark == expected_mark && kind >= frame_kind::piece && kind <= frame_kind::status && lane < lane_count &&
           what.kind <= operation_kind::split &&
           (kind != frame_kind::piece || (part <= bytes && (part != 0 || bytes == 0)));
  }
};
static_assert(sizeof(frame) == 80 && std::is_trivially_copyable_v<frame>);

/// Payloads are padded to this, so that elements lie aligned wherever the stream is staged.
inline constexpr std::size_t frame_alignment = 16;
static_assert(sizeof(frame) % frame_alignment == 0);

[[nodiscard]] constexpr std::size_t padding(std::size_t bytes) noexcept {
  return (0 - bytes) % frame_alignment;
}

/// What a piece counts against the window.
[[nodiscard]] constexpr std::size_t cost(std::size_t bytes) noexcept {
  return sizeof(frame) + bytes + padding(bytes);
}

[[nodiscard]] inline std::span<std::byte const> bytes_of(frame const& f) noexcept {
  return std::as_bytes(std::span(&f, 1));
}

}  // namespace tutti::net
