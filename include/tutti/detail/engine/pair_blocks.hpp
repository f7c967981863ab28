// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/engine/memories.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/partition.hpp>
#include <tutti/extend/topology.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline engine {

/// True if the length of a block may depend on its sender and on its receiver.
template <class Op>
inline constexpr bool has_pair_lengths = std::same_as<Op, op::alltoall>;

/// The lengths of the blocks that one rank sends and receives, where each pair of ranks has a length of its own. No
/// rank knows those of the others, so all pick the one schedule that forwards no blocks.
struct pair_lengths {
  partition const& outgoing;  ///< the block of each rank in the input
  partition const& incoming;  ///< the block from each rank in the output
  bool are_compared = false;  ///< true if sender and receiver of each block are known to agree

  [[nodiscard]] static constexpr bool is_equal_cut() noexcept { return false; }
  [[nodiscard]] static constexpr std::uint32_t share_class() noexcept { return 1; }
  [[nodiscard]] static constexpr std::uint32_t identity() noexcept { return hash("a length for each pair"); }
};

/// The type that gives an operation the lengths of its blocks.
template <class Op>
using lengths_of = std::conditional_t<has_pair_lengths<Op>, pair_lengths, partition>;

/// The blocks of an operation in which each pair of ranks has a length of its own. The engine knows one length of each
/// block, so it gets one vector, of bytes:
///
///     block       0 .. n - 1         n                   n + 1 .. 2 n       2 n + 1 .. 3 n
///     holds       length of the      length of the       block for          block from
///                 block for rank b   arriving block      rank b - n - 1     rank b - 2 n - 1
///     memory      work               work                input              output
///
/// If two ranks disagreed about a length, one would wait for bytes that never come. So each step of the schedule
/// becomes two, which exchange lengths and blocks, unless the transport compares lengths itself (`checks_lengths`), or
/// the ranks have exchanged them before. Blocks are not cut into segments.
class pair_blocks {
 public:
  /// True if the operation has a length for each pair.
  [[nodiscard]] bool are_used() const noexcept { return are_used_; }
  void clear() noexcept { are_used_ = false; }

  /// Takes the lengths, and returns the memories of the vector. @throws std::bad_alloc
  TUTTI_DECL memories assign(pair_lengths const& lengths, std::size_t element_bytes, bool compares,
                             memories const& memory);

  [[nodiscard]] std::uint32_t blocks() const noexcept { return 3 * ranks_ + 1; }
  [[nodiscard]] std::size_t const* begins() const noexcept { return begins_.data(); }
  /// The number of steps that `count` steps of the schedule become.
  [[nodiscard]] std::uint32_t steps(std::uint32_t count) const noexcept { return compares_ ? 2 * count : count; }
  /// The number of the schedule's step that becomes step `i`, and perhaps another.
  [[nodiscard]] std::uint32_t source_step(std::uint32_t i) const noexcept { return compares_ ? i / 2 : i; }
  /// Turns a step of the schedule of rank `me` into step `i` of the operation.
  /// @throws error (failure::mismatch) if the peer sends another length than this rank expects; precondition_error if
  /// the topology forwards blocks
  TUTTI_DECL void adapt(step& s, std::uint32_t i, rank_type me, std::string_view topology) const;

 private:
  [[nodiscard]] std::size_t length(std::uint32_t block) const noexcept { return begins_[block + 1] - begins_[block]; }

  std::vector<std::size_t> begins_{};     ///< the begin of each block, and the end of the last
  std::vector<std::uint64_t> lengths_{};  ///< the memory `work`
  rank_type ranks_ = 0;
  bool are_used_ = false;
  bool compares_ = false;
};

}  // namespace tutti::detail::engine

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/engine/pair_blocks.ipp>
#endif
