// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/operation.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0 {

/// A segment of an operation on its way: the lane that carries it, and its number. Flows are numbered alike on every
/// rank of a communicator. The key of a message is its flow and its place among the messages of that flow on that edge.
struct flow {
  std::uint32_t lane;    ///< the lane that carries it, below `lane_count`
  std::uint32_t number;  ///< its running number, over all collective lanes

  friend constexpr bool operator==(flow, flow) = default;
};

/// The lanes of collective operations. Messages of one lane arrive in order; those of different lanes never wait for
/// each other. A lane carries one flow at a time, so a bounded number is in flight.
inline constexpr std::uint32_t collective_lanes = 8;
inline constexpr std::uint32_t transfer_lane = collective_lanes;  ///< lane of send and recv
/// The number of all lanes.
inline constexpr std::uint32_t lane_count = collective_lanes + 1;

/// Identifies the time at which the receiver has released the bytes of a send. 0: at once, because they have been
/// copied. The sender may then overwrite them, unless they are lent: a lent block is back when `view` shows its result.
using ticket = std::uint64_t;

/// The result of offering a message to a transport. A message of no bytes can be accepted, too.
struct send_result {
  bool is_accepted = false;   ///< true if the transport took anything
  std::size_t bytes = 0;      ///< number of bytes that it took
  ticket release_ticket = 0;  ///< ticket for `is_released`: the transport reads the bytes until then
};

/// The demands of a receiver on the message that it expects.
struct receive_request {
  std::size_t bytes;    ///< number of bytes still to come
  std::size_t granule;  ///< element size, which no chunk may split
  /// The destination if the bytes will be copied unchanged, or null if they are combined. Belongs to the transport
  /// until the message is whole.
  std::byte* place;
};

/// The next part of a message, readable until `release`. A transport that was given a destination may have written the
/// bytes there, and then returns that address.
struct chunk {
  std::byte const* data = nullptr;  ///< the bytes; null: none yet
  std::size_t bytes = 0;            ///< their number

  /// True if there are bytes.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return data != nullptr; }
};

/// The number of bytes that an in-network aggregator takes, and sends, at once.
inline constexpr std::size_t aggregator_packet_bytes = 1024;

/// A rank that takes part in the work of an in-network aggregator.
struct aggregation_worker {
  rank_type rank = no_rank;  ///< its number
  bool contributes = false;  ///< true if it contributes
  bool receives = false;     ///< true if it receives the result
};

/// The part of a rank in the work of an in-network aggregator in one flow.
struct aggregation_part {
  rank_type aggregator = no_rank;                 ///< number of the aggregator, at least size()
  std::span<aggregation_worker const> workers{};  ///< participants, equal on all ranks; valid until `end`
  rank_type worker = no_rank;                     ///< index of this rank in `workers`; no_rank: it does not take part
  network_operation operation = network_operation::none;  ///< operation on the contributions
  std::size_t bytes = 0;                                  ///< bytes per contribution, and per result
  /// Combines as this rank would: `result` = `result` * `contribution`; null if `operation` is copy. Valid while `send`
  /// runs.
  void (*combine)(void const* context, std::byte* result, std::byte const* contribution, std::size_t bytes) = nullptr;
  void const* context = nullptr;  ///< first argument of `combine`
};

/// One link of the wait-for chain, as a waiting rank reports it.
struct wait_report {
  rank_type peer = no_rank;     ///< rank that it waits for; no_rank: none
  tutti::flow flow{};           ///< flow on which it waits
  std::uint32_t progress = 0;   ///< counter that changes with all progress
  bool blocks_program = false;  ///< true if its program is blocked until this ends
  bool is_fresh = false;        ///< true if reported since the rank was last asked
  tutti::call call{};           ///< call in which it waits

  /// True if there was no progress between the two reports.
  [[nodiscard]] constexpr bool has_same_progress(wait_report const& other) const noexcept {
    return peer == other.peer && flow == other.flow && progress == other.progress;
  }
};

}  // namespace tutti
