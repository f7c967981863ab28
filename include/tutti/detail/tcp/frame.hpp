// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/operation.hpp>

#include <cstring>
#include <span>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::tcp {

/// What follows on a connection between two ranks.
enum class frame_kind : std::uint8_t {
  piece = 1,  ///< `part` bytes of a message of `bytes` bytes; they follow
  credit,     ///< nothing but credits
  revoke,     ///< the epoch has failed; `bytes` is the packed fault
  bye,  ///< no more messages, and none is read; `bytes` is the packed fault because of which the sender leaves, or 0
  call_query,  ///< in which call is the peer on this lane?
  call_reply,  ///< the answer: `number` and `what`; `bytes` is 0 if it has not been in any
  wait_query,  ///< which rank does the peer wait for? `number` is that of the question
  wait_reply,  ///< it does so for `part`, on that lane: see standing
};

/// Every frame begins with this. It carries the whole call, so that a receiver that expects another
/// one can show both. Byte order and layout are the host's: the handshake refuses other hosts.
///
/// A frame of its own for a credit would cost two system calls and a packet, so every piece carries those that are due.
/// Its size is that of cache lines: the system copies what follows it aligned as it lies, which saves one in
/// twenty of the time of 64 KiB.
struct alignas(64) frame {
  static constexpr std::uint32_t expected_mark = 0x74757474;

  std::uint32_t mark = expected_mark;
  frame_kind kind{};
  std::uint8_t lane = 0;
  std::uint16_t blocks = 0;  ///< of an answer
  std::uint32_t number = 0;  ///< of the flow
  std::uint32_t part = 0;
  std::uint64_t bytes = 0;
  call sender_call{};
  std::uint32_t credits[lane_count] = {};  ///< of each lane, cost() of the pieces that have been taken since the last

  /// Whether a peer can have sent it.
  [[nodiscard]] constexpr bool is_valid() const noexcept {
    return mark == expected_mark && kind >= frame_kind::piece && kind <= frame_kind::wait_reply && lane < lane_count &&
           sender_call.kind <= operation_kind::split &&
           (kind != frame_kind::piece || (part <= bytes && (part != 0 || bytes == 0)));
  }
};
static_assert(sizeof(frame) == 128 && std::is_trivially_copyable_v<frame>);

/// Payloads are padded to this, so that elements, and cache lines, lie aligned in every receive buffer.
inline constexpr std::size_t frame_alignment = alignof(frame);
static_assert(sizeof(frame) % frame_alignment == 0);

[[nodiscard]] constexpr std::size_t padding(std::size_t bytes) noexcept {
  return (0 - bytes) % frame_alignment;
}

/// What a piece counts against the window. Of a long one its header is not counted, so that a window is a whole number
/// of pieces and leaves no sliver.
[[nodiscard]] constexpr std::size_t window_cost(std::size_t bytes) noexcept {
  constexpr std::size_t minimum = 2 * sizeof(frame);
  std::size_t const padded_bytes = bytes + padding(bytes);
  return padded_bytes < minimum ? minimum : padded_bytes;
}

/// How much of a window a receiver may have taken without the sender's knowing.
[[nodiscard]] constexpr std::size_t max_withheld_credit(std::size_t window) noexcept {
  constexpr std::size_t maximum = std::size_t{1} << 30;  // sums of credits must fit into a frame
  return window / 4 < maximum ? window / 4 : maximum;
}

[[nodiscard]] inline std::span<std::byte const> bytes_of(frame const& header) noexcept {
  return std::as_bytes(std::span(&header, 1));
}

}  // namespace tutti::detail::tcp
