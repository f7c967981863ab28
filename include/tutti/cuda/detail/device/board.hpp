// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/memories.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::device {

inline constexpr rank_type most_ranks = 16;
/// The most messages to one peer in an operation: each has a bit that says if it is in a snapshot.
inline constexpr std::uint32_t most_messages = 64;

/// Words for one thread group from the same group of another rank, the writer.
struct alignas(64) mailbox {
  std::uint64_t operation_count = 0;  ///< operations that the writer has begun
  std::uint64_t sent_count = 0;       ///< messages to this rank that are ready
  std::uint64_t consumed_count = 0;   ///< messages of this rank that the writer has consumed
  std::uint64_t snapshots = 0;        ///< bit `number % most_messages`: the message is in the writer's snapshot
  memories buffers{};                 ///< memories of the writer's current operation, in this rank's addresses
  call call_record{};                 ///< the writer's current operation
};

/// A group's counters, which persist over operations.
struct block_counts {
  std::uint64_t busy = 0;  ///< nonzero while the group may be in memory of other ranks
  std::uint64_t operation_count = 0;
  std::uint64_t sent_counts[most_ranks] = {};
  std::uint64_t received_counts[most_ranks] = {};
  std::uint64_t snapshots[most_ranks] = {};  ///< the last values that the other ranks were told
};

/// The shared state of a world with devices, as one rank's threads reach it. Trivially copyable: it is passed to
/// kernels by value.
///
/// A group's scratch memory is divided into areas. The first holds copies of blocks that are sent and overwritten
/// (snapshots); the second is `work` in an operation without memory for it. If ranks reach only windows of each other
/// (`apart`), the third holds the input, and the fourth the output, of the current part.
struct board {
  rank_type rank = 0;
  rank_type ranks = 1;
  bool apart = false;                      ///< ranks reach only windows of each other; equal on all ranks
  std::uintptr_t shifts[most_ranks] = {};  ///< from addresses in this rank's window to those of each rank
  mailbox* boxes[most_ranks] = {};         ///< boxes of each rank; group b's box for rank p has index b * ranks + p
  block_counts* counts = nullptr;          ///< this rank's counters, one per group
  std::byte* scratch = nullptr;            ///< this rank's scratch memory, `scratch_bytes` per group
  std::byte const* scratches[most_ranks] = {};  ///< scratch memory of each rank
  std::size_t scratch_bytes = 0;                ///< bytes per group
  std::uint64_t* stops[most_ranks] = {};        ///< for each rank: a packed tutti::fault that ends its operations, or 0
  std::uint64_t* fault = nullptr;               ///< in host memory: a packed tutti::fault, or 0
  std::uint64_t* failed_operation = nullptr;    ///< in host memory: the first operation without a result, or 0
  std::uint64_t* progress = nullptr;            ///< in host memory: changes when an operation ends

  /// The size of one area of a group's scratch memory.
  [[nodiscard]] constexpr std::size_t area_bytes() const noexcept { return scratch_bytes / (apart ? 4 : 2); }
  [[nodiscard]] constexpr mailbox* box(rank_type owner, std::uint32_t group, rank_type peer) const noexcept {
    return boxes[owner] + std::size_t{group} * ranks + peer;
  }
};

}  // namespace tutti::detail::device
