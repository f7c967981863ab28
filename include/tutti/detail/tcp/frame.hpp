// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/operation.hpp>

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::tcp {

/// The kinds of frames, and the actions of the receiver.
///
///                fields                                        the receiver
///     piece      `part` bytes of a message of `bytes` bytes    reads it to a place or fragment; `view` checks the call
///     credit     `credits`, which pieces have, too             enlarges the windows of its own sending half
///     revoke     `bytes`, `reason`: the fault of the world     adopts the fault, and forwards it to its own peers
///     bye        `bytes`, `reason`: why it leaves, or 0        does not report the end of the stream as a fault
///     call_query                                               sends a call_reply for this lane
///     call_reply `number`, `sender_call`; `bytes` 0: no call   compares it with its own call at `detect_mismatch`
///     wait_query `number` of the query                         sends a wait_reply for each lane on which it waits
///     wait_reply a wait_report, see below                      keeps the last one of each lane (wait_table)
///
/// A bye is the last frame of a rank that leaves without a fault of this world (`mesh::leave`). It is sent on each
/// connection, except where a piece is incomplete. The peer still takes the pieces before it. If the peer sends to that
/// rank afterwards, or waits for more from it, it reports the rank as lost, or the reason in the bye if there is one. A
/// frame after a bye violates the protocol.
///
/// A wait_reply carries one wait_report of its sender. `lane` and `number`: the flow on which it waits. `part`: the
/// rank that it waits for. `bytes`: its progress counter in the upper half, the number of the query in the lower.
/// `blocks`: 1 if its program is blocked. `sender_call`: its call.
enum class frame_kind : std::uint8_t {
  piece = 1,
  credit,
  revoke,
  bye,
  call_query,
  call_reply,
  wait_query,
  wait_reply,
};

/// The header of every frame. A connection is a `hello` in each direction, then frames:
///
///     | header, 128 bytes | payload, `part` bytes | zeros, up to a multiple of 64 |     a piece
///     | header, 128 bytes |                                                           all other kinds
///
/// The header carries the whole call, so that a receiver in another call can show both. Byte order and layout are those
/// of the host: the handshake refuses hosts that differ.
///
/// A separate frame for credit costs two system calls and a packet, so each piece carries the credit that is due. The
/// size is a multiple of a cache line: copies of the payload are then aligned, which saves 5 % of the time of 64 KiB.
struct alignas(64) frame {
  static constexpr std::uint32_t expected_mark = 0x74757474;

  std::uint32_t mark = expected_mark;
  frame_kind kind{};
  std::uint8_t lane = 0;
  std::uint16_t blocks = 0;  ///< in a wait_reply: 1 if the program is blocked
  std::uint32_t number = 0;  ///< number of the flow; in a wait_query: of the query
  std::uint32_t part = 0;    ///< see frame_kind, as for `bytes`
  std::uint64_t bytes = 0;
  call sender_call{};                      ///< in a revoke or a bye: the bytes of the reason of an abort
  std::uint32_t credits[lane_count] = {};  ///< in pieces and credit frames: window_cost() returned, per lane
  std::uint32_t rest[3] = {};              ///< zeros: padding would carry bytes of this process

  /// A revoke or a bye. The reason has the place of the call, which these do not have.
  [[nodiscard]] static frame with_fault(frame_kind kind, tutti::fault const& cause) noexcept {
    reason_bytes reason;
    copy_bounded(bounded_text(cause.reason), reason.text);
    return {.kind = kind, .bytes = cause.pack(), .sender_call = std::bit_cast<call>(reason)};
  }
  [[nodiscard]] constexpr bool has_fault() const noexcept {
    return kind == frame_kind::revoke || kind == frame_kind::bye;
  }
  [[nodiscard]] tutti::fault get_fault() const noexcept {
    auto const reason = std::bit_cast<reason_bytes>(sender_call);
    return tutti::fault::unpack(bytes, bounded_text(reason.text));
  }

  /// True if a correct peer can have sent it.
  [[nodiscard]] constexpr bool is_valid() const noexcept {
    return mark == expected_mark && kind >= frame_kind::piece && kind <= frame_kind::wait_reply && lane < lane_count &&
           (has_fault() || sender_call.kind <= operation_kind::split) &&
           (kind != frame_kind::piece || (part <= bytes && (part != 0 || bytes == 0)));
  }

 private:
  struct reason_bytes {
    char text[tutti::fault::reason_text];
  };
};
static_assert(sizeof(frame) == 128 && offsetof(frame, rest) + sizeof(frame::rest) == sizeof(frame) &&
              std::is_trivially_copyable_v<frame>);

/// Alignment of payloads: padding keeps elements, and cache lines, aligned in every receive buffer.
inline constexpr std::size_t frame_alignment = alignof(frame);
static_assert(sizeof(frame) % frame_alignment == 0);

[[nodiscard]] constexpr std::size_t padding(std::size_t bytes) noexcept {
  return (0 - bytes) % frame_alignment;
}

/// The share of the window that a piece takes. The header of a long piece is free, so that a window is a whole number
/// of pieces and leaves no sliver.
[[nodiscard]] constexpr std::size_t window_cost(std::size_t bytes) noexcept {
  constexpr std::size_t minimum = 2 * sizeof(frame);
  std::size_t const padded_bytes = bytes + padding(bytes);
  return padded_bytes < minimum ? minimum : padded_bytes;
}

/// The released bytes of a lane that a receiver may keep from the sender before it must send a credit frame.
[[nodiscard]] constexpr std::size_t max_withheld_credit(std::size_t window) noexcept {
  constexpr std::size_t maximum = std::size_t{1} << 30;  // sums of credit must fit into a frame
  return window / 4 < maximum ? window / 4 : maximum;
}

[[nodiscard]] inline std::span<std::byte const> bytes_of(frame const& header) noexcept {
  return std::as_bytes(std::span(&header, 1));
}

}  // namespace tutti::detail::tcp
