// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/memories.hpp>
#include <tutti/types.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::detail::device {

inline constexpr rank_type most_ranks = 16;
/// To one peer in an operation: of each is known whether it lies in a snapshot.
inline constexpr std::uint32_t most_messages = 64;

/// What a peer tells one group of threads of this rank. Only the peer writes it, and only while the operation needs it.
struct alignas(64) mailbox {
  std::uint64_t begun = 0;      ///< operations that the peer has begun
  std::uint64_t sent = 0;       ///< messages to this rank that lie ready
  std::uint64_t taken = 0;      ///< messages of this rank that the peer has used
  std::uint64_t snapshots = 0;  ///< whether a message lies in the peer's snapshot: bit `number % most_messages`
  std::uint64_t call = 0;       ///< the fingerprint of the operation that the peer has begun
  memories where{};             ///< the peer's memories of that operation, in this rank's addresses
};

/// What a group has counted so far, from operation to operation.
struct block_counts {
  std::uint64_t begun = 0;
  std::uint64_t sent[most_ranks] = {};
  std::uint64_t received[most_ranks] = {};
};

/// Why an operation ended without a result.
enum class failure_kind : std::uint32_t { none, late, differs };
struct failure_report {
  failure_kind kind = failure_kind::none;
  rank_type peer = no_rank;

  [[nodiscard]] constexpr std::uint64_t word() const noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(kind)} << 32 | peer;
  }
  [[nodiscard]] static constexpr failure_report of(std::uint64_t word) noexcept {
    return {static_cast<failure_kind>(static_cast<std::uint32_t>(word >> 32)), static_cast<rank_type>(word)};
  }
};

/// One rank's end of everything, as its threads reach it. Trivially copyable: a kernel gets it as an argument.
struct board {
  rank_type rank = 0;
  rank_type ranks = 1;
  mailbox* boxes[most_ranks] = {};              ///< of each rank: that of group b for peer p is number b * ranks + p
  block_counts* counts = nullptr;               ///< this rank's: one for each group
  std::byte* snapshot = nullptr;                ///< this rank's: `snapshot_bytes` for each group
  std::byte const* snapshots[most_ranks] = {};  ///< of each rank
  std::size_t snapshot_bytes = 0;               ///< of each group
  std::uint64_t* fault = nullptr;               ///< a failure_report, or 0; when it is another, all waiting ends

  [[nodiscard]] constexpr mailbox* box(rank_type of, std::uint32_t group, rank_type peer) const noexcept {
    return boxes[of] + std::size_t{group} * ranks + peer;
  }
};

}  // namespace tutti::detail::device
