// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/memories.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::device {

inline constexpr rank_type most_ranks = 16;
/// To one peer in an operation: of each is known whether it lies in a snapshot.
inline constexpr std::uint32_t most_messages = 64;

/// What another rank tells one group of threads of this rank. Only that rank writes it.
struct alignas(64) mailbox {
  std::uint64_t begun = 0;      ///< operations that the other rank has begun
  std::uint64_t sent = 0;       ///< messages to this rank that lie ready
  std::uint64_t taken = 0;      ///< messages of this rank that it has used
  std::uint64_t snapshots = 0;  ///< whether a message lies in its snapshot: bit `number % most_messages`
  memories where{};             ///< its memories of the operation that it has begun, in this rank's addresses
  call what{};                  ///< and what that is
};

/// What a group has counted so far, from operation to operation.
struct block_counts {
  std::uint64_t busy = 0;  ///< whether it may be in memory of other ranks
  std::uint64_t begun = 0;
  std::uint64_t sent[most_ranks] = {};
  std::uint64_t received[most_ranks] = {};
  std::uint64_t snapshots[most_ranks] = {};  ///< as the other ranks have been told
};

/// One rank's end of everything, as its threads reach it. Trivially copyable: a kernel gets it as an argument.
///
/// Scratch memory of a group has areas: what it sends and overwrites is copied to the first; the second is `work` where
/// an operation has none of its own. Where ranks reach nothing of each other but windows (`apart`), the third has the
/// input, and the fourth the output, of the part that is under way.
struct board {
  rank_type rank = 0;
  rank_type ranks = 1;
  bool apart = false;                           ///< ranks reach only windows of each other; alike on all ranks
  std::uintptr_t shifts[most_ranks] = {};       ///< from this rank's addresses in its window to those of each rank
  mailbox* boxes[most_ranks] = {};              ///< of each rank: that of group b for rank p is number b * ranks + p
  block_counts* counts = nullptr;               ///< this rank's: one for each group
  std::byte* scratch = nullptr;                 ///< this rank's: `scratch_bytes` for each group
  std::byte const* scratches[most_ranks] = {};  ///< of each rank
  std::size_t scratch_bytes = 0;                ///< of each group
  std::uint64_t* stops[most_ranks] = {};        ///< of each rank: a packed tutti::fault that ends its operations, or 0
  std::uint64_t* fault = nullptr;               ///< this rank's, of its host: the same
  std::uint64_t* failed = nullptr;              ///< and its first operation without a result, or 0
  std::uint64_t* progress = nullptr;            ///< and a word that changes with every operation that ends

  /// Bytes of an area of a group's scratch memory.
  [[nodiscard]] constexpr std::size_t area_bytes() const noexcept { return scratch_bytes / (apart ? 4 : 2); }
  [[nodiscard]] constexpr mailbox* box(rank_type of, std::uint32_t group, rank_type peer) const noexcept {
    return boxes[of] + std::size_t{group} * ranks + peer;
  }
};

}  // namespace tutti::detail::device
