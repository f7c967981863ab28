// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/operation.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0 {

/// The running number of a segment of an operation, on the lane that carries it. Flows are
/// numbered alike on every rank of a communicator, so a flow is half of a message's key; the other
/// half is its place among the messages of that flow on that edge.
struct flow {
  std::uint32_t lane;    ///< which of the `lane_count` lanes carries it
  std::uint32_t number;  ///< its running number there

  friend constexpr bool operator==(flow, flow) = default;
};

/// Lanes keep flows apart: messages of one lane arrive in order, those of different lanes never
/// wait for each other. A lane carries one flow at a time, so a bounded number is in flight.
inline constexpr std::uint32_t collective_lanes = 8;
inline constexpr std::uint32_t transfer_lane = collective_lanes;  ///< send and recv
/// All lanes.
inline constexpr std::uint32_t lane_count = collective_lanes + 1;

/// Says when the bytes of a send may be written again. 0: at once, they have been copied.
using ticket = std::uint64_t;

/// What became of an offered message: how many bytes the transport took, and until when it reads
/// them. `accepted` is false when it took nothing (a message of no bytes can be accepted, too).
struct sent {
  bool accepted = false;  ///< whether the transport took anything
  std::size_t bytes = 0;  ///< how many bytes it took
  ticket until = 0;       ///< when they may be written again
};

/// Where a message that is about to be received is wanted.
struct wanted {
  std::size_t bytes;    ///< how much of the message is still to come
  std::size_t granule;  ///< no chunk may split one of these: the element size
  /// Where its bytes will be copied to unchanged, or null: they are combined. The transport's until it is whole.
  std::byte* place;
};

/// The next part of a message: readable until `release`. No data: not yet. A transport that was
/// given a place may have put the bytes there, and then returns that very address.
struct chunk {
  std::byte const* data = nullptr;  ///< where the bytes are; null: not yet
  std::size_t bytes = 0;            ///< how many there are

  /// Whether there is one.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return data != nullptr; }
};

/// How many bytes a helper takes, and hands on, at once.
inline constexpr std::size_t helper_packet = 1024;

/// A rank that takes part in what a helper does.
struct helper_worker {
  rank_type rank = no_rank;  ///< its number
  bool gives = false;        ///< a contribution
  bool gets = false;         ///< what the helper makes of them
};

/// What a rank does with a helper in one flow: with a member of the network, numbered from size() on.
struct helper_part {
  rank_type helper = no_rank;                ///< the helper's number, from size() on
  std::span<helper_worker const> workers{};  ///< the ranks that take part, alike on all ranks; valid until `end`
  rank_type worker = no_rank;                ///< the place of this rank among them; no_rank: it does not take part
  network_operation operation = network_operation::none;  ///< what becomes of what is given
  std::size_t bytes = 0;  ///< that each rank that gives sends, and each that gets receives
  /// `into` = `into` * `from`, as this rank would combine them; null where `operation` is copy. Valid while `send`
  /// runs.
  void (*combine)(void const* of, std::byte* into, std::byte const* from, std::size_t bytes) = nullptr;
  void const* of = nullptr;  ///< the first argument of `combine`
};

/// Which rank another one waits for, as that one says: in which call, on which flow, and how far that has come.
struct wait_report {
  rank_type peer = no_rank;  ///< the rank that is waited for; no_rank: none
  flow on{};                 ///< the flow on which it waits
  std::uint32_t moved = 0;   ///< another number whenever it has come any further
  bool blocks = false;       ///< its program does not go on before this has ended
  bool fresh = false;        ///< it has been said since the rank was last asked
  call what{};               ///< the call in which it waits

  /// Whether nothing has moved between the two.
  [[nodiscard]] constexpr bool same(wait_report const& other) const noexcept {
    return peer == other.peer && on == other.on && moved == other.moved;
  }
};

}  // namespace tutti
