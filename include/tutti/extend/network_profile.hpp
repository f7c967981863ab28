// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The memory that the vectors of an operation are in. It may change the times of messages: see
/// network_profile::allocator.
enum class memory_kind : std::uint8_t {
  ordinary,   ///< any memory
  allocator,  ///< memory from the transport, by tutti::allocator, on every rank
};

/// The measured times of the messages of a world, in picoseconds: a plain value, equal on all ranks. `automatic`
/// prices schedules with it (docs/guide/automatic.md).
struct network_profile {
  /// The times of a message of one length.
  struct point {
    std::size_t bytes = 0;       ///< the length of the message
    std::int64_t send = 0;       ///< the sender's processor
    std::int64_t lead = 0;       ///< the part of `send` before the message begins to leave
    std::int64_t wire = 0;       ///< the interface of each end, which is busy meanwhile
    std::int64_t receive = 0;    ///< the receiver's processor, if it stores
    std::int64_t combine = 0;    ///< additional time of the receiver's processor, if it combines
    std::int64_t overwrite = 0;  ///< added to `combine` if the step overwrites what it sends; may be negative
    std::int64_t loan = 0;       ///< both processors together, if lent or given back; 0: as for other messages
    std::int64_t solo = 0;       ///< like `loan`, if the sender receives nothing meanwhile
    /// True if both are the same in all members.
    friend bool operator==(point const&, point const&) = default;
  };
  /// The times of a message of one length in an operation that only moves elements.
  struct move {
    std::size_t bytes = 0;     ///< the length of the message
    std::int64_t send = 0;     ///< the sender's processor
    std::int64_t lead = 0;     ///< the part of `send` before the message begins to leave
    std::int64_t delay = 0;    ///< additional latency, which occupies no processor
    std::int64_t receive = 0;  ///< the receiver's processor
    /// True if both are the same in all members.
    friend bool operator==(move const&, move const&) = default;
  };
  /// The messages between two ranks: linear interpolation between measured lengths.
  struct link {
    std::int64_t latency = 0;     ///< interface to interface
    std::vector<point> points{};  ///< in order of length; empty: no such messages
    std::int64_t burst = 0;       ///< the part of `wire` that an idle interface saves up
    std::vector<move> moves{};    ///< in order of length; empty: like stored messages in `points`
    /// True if both are the same in all members.
    friend bool operator==(link const&, link const&) = default;
  };

  rank_type ranks = 0;     ///< the number of ranks of the world
  rank_type hosts = 0;     ///< the number of their hosts
  std::int64_t start = 0;  ///< time to start an operation, or a segment
  link within_host{};      ///< ranks of one host
  link allocator{};        ///< ranks of one host with memory_kind::allocator; without points: no difference
  link between_hosts{};    ///< ranks of different hosts
  link aggregator{};       ///< to and from an in-network aggregator, used by all ranks at once; without points: none

  /// True if messages within a host depend on the memory of the vectors.
  [[nodiscard]] bool tells_apart() const noexcept { return !allocator.points.empty(); }
  /// The link between ranks of one host, for vectors in this memory.
  [[nodiscard]] link const& within_a_host(memory_kind kind) const noexcept {
    return kind == memory_kind::allocator && tells_apart() ? allocator : within_host;
  }
  /// True if both are the same in all members.
  friend bool operator==(network_profile const&, network_profile const&) = default;
};

}  // namespace tutti
