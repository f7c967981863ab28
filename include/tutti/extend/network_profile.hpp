// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The place of the vectors of an operation. Messages may take other times there: see network_profile::provided.
enum class memory_kind : std::uint8_t {
  ordinary,  ///< anywhere
  provided,  ///< on every rank in memory that the transport provides: by tutti::allocator
};

/// The time that messages of a world take, as it was measured: a plain value, in picoseconds. `automatic` prices
/// schedules with it (docs/guide/automatic.md); all ranks have the same.
struct network_profile {
  /// A message of this many bytes.
  struct point {
    std::size_t bytes = 0;       ///< the length of the message
    std::int64_t send = 0;       ///< the sender's processor
    std::int64_t lead = 0;       ///< the part of `send` until the message begins to leave
    std::int64_t wire = 0;       ///< the interface of each end, which it keeps busy
    std::int64_t receive = 0;    ///< the receiver's processor, if it stores
    std::int64_t combine = 0;    ///< the receiver's processor, more than that, if it combines
    std::int64_t overwrite = 0;  ///< that, more or less, where this overwrites what it sends in that step
    std::int64_t loan = 0;       ///< both processors, all told, if it is lent or given back; 0: as any other message
    std::int64_t solo = 0;       ///< the same where its sender gets none meanwhile
    /// True if both are the same in all members.
    friend bool operator==(point const&, point const&) = default;
  };
  /// A message of this many bytes in an operation that only moves elements.
  struct move {
    std::size_t bytes = 0;     ///< the length of the message
    std::int64_t send = 0;     ///< the sender's processor
    std::int64_t lead = 0;     ///< the part of `send` until the message begins to leave
    std::int64_t delay = 0;    ///< beside the latency: takes no processor
    std::int64_t receive = 0;  ///< the receiver's processor
    /// True if both are the same in all members.
    friend bool operator==(move const&, move const&) = default;
  };
  /// Messages between two ranks: straight lines between sizes that were measured.
  struct link {
    std::int64_t latency = 0;     ///< from interface to interface
    std::vector<point> points{};  ///< of growing sizes; empty: there are no such messages
    std::int64_t burst = 0;       ///< the part of `wire` that an idle interface saves up
    std::vector<move> moves{};    ///< of growing sizes; empty: they take what others take, which are stored
    /// True if both are the same in all members.
    friend bool operator==(link const&, link const&) = default;
  };

  rank_type ranks = 0;     ///< the number of ranks of the world
  rank_type hosts = 0;     ///< the number of hosts that they are on
  std::int64_t start = 0;  ///< starting an operation, or a segment of one
  link within_host{};      ///< between ranks of one host
  link provided{};         ///< the same of memory_kind::provided; without points: it makes no difference
  link between_hosts{};    ///< between hosts
  link helper{};           ///< to a helper and from it, while all ranks do; without points: none helps

  /// True if messages within a host depend on the place of the vectors.
  [[nodiscard]] bool tells_apart() const noexcept { return !provided.points.empty(); }
  /// The link between ranks of one host, for vectors in this place.
  [[nodiscard]] link const& within_a_host(memory_kind where) const noexcept {
    return where == memory_kind::provided && tells_apart() ? provided : within_host;
  }
  /// True if both are the same in all members.
  friend bool operator==(network_profile const&, network_profile const&) = default;
};

}  // namespace tutti
