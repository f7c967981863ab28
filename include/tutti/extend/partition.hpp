// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/element.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/types.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The lengths of the blocks of all ranks: rank r's block has length(r) elements of the vector, zero included, from
/// begin(r) on.
///
///     tutti::partition const blocks{5, 0, 12};      // of ranks 0, 1 and 2
///     tutti::partition const rows(rows_of_ranks);   // a std::vector<std::size_t>
///     tutti::allgather collect{world, tutti::ring{}};
///     collect(input, output, blocks);
///
/// allgather, reduce_scatter, gather and scatter take one behind their other arguments. All ranks pass equal
/// partitions; an operation in which they differ ends with an error. Lengths that are those of block_size make the
/// operation without a partition. alltoall takes two, which are this rank's own.
///
/// Cost: one word for each rank; a started operation copies them.
/// Thread safety: as a std::vector.
class partition {
 public:
  /// Constructs the partition in which rank r's block has `lengths[r]` elements.
  /// @throws precondition_error if the sum of the lengths exceeds a std::size_t
  TUTTI_DECL explicit partition(std::span<std::size_t const> lengths);
  /// Constructs the partition from a list of lengths.
  explicit partition(std::initializer_list<std::size_t> lengths)
      : partition(std::span(lengths.begin(), lengths.size())) {}

  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(begins_.size() - 1); }
  /// The number of elements of all blocks together.
  [[nodiscard]] std::size_t count() const noexcept { return begins_.back(); }
  /// The first element of the block of rank `r`.
  [[nodiscard]] std::size_t begin(rank_type r) const noexcept { return begins_[r]; }
  /// The number of elements of the block of rank `r`.
  [[nodiscard]] std::size_t length(rank_type r) const noexcept { return begins_[r + 1] - begins_[r]; }
  /// The number of elements of the longest block.
  [[nodiscard]] std::size_t longest() const noexcept { return longest_; }
  /// The share class of the longest block: k if it has more than 1/2^k of all elements, and 0 if it is at most twice as
  /// long as an equal block. Schedules are picked, and vectors are cut into segments, by the class.
  [[nodiscard]] std::uint32_t share_class() const noexcept {
    if (longest_ == 0 || longest_ / 2 <= block_size(count(), begins_.size() - 1, 0)) {
      return 0;
    }
    return static_cast<std::uint32_t>(std::bit_width(count() / longest_));
  }
  /// True if the blocks are those of block_size.
  [[nodiscard]] bool is_equal_cut() const noexcept { return identity_ == 0; }

  /// The first element of each block, and the number of all elements.
  [[nodiscard]] std::span<std::size_t const> begins() const noexcept { return begins_; }
  /// A hash of the lengths, by which ranks find that they passed different ones; 0 if is_equal_cut().
  [[nodiscard]] std::uint32_t identity() const noexcept { return identity_; }

  friend bool operator==(partition const& a, partition const& b) noexcept { return a.begins_ == b.begins_; }

 private:
  std::vector<std::size_t> begins_;
  std::size_t longest_ = 0;
  std::uint32_t identity_ = 0;
};

namespace detail {

/// True if no rank sends a block to two others, so that segments of the longest block overlap on their way. Elsewhere a
/// rank is busy with sending that block, or receiving its parts, for as long as a way takes, and segments only cost.
template <class Topology, class Op>
[[nodiscard]] constexpr bool forwards_each_block_once(Topology const& topology, Op const&) noexcept {
  if constexpr (requires { topology.forwards_each_block_once(); }) {
    return std::same_as<Op, op::gather> || std::same_as<Op, op::scatter> || topology.forwards_each_block_once();
  } else {
    return std::same_as<Op, op::gather> || std::same_as<Op, op::scatter>;
  }
}

/// The segment size of a partition whose longest block is much longer than the others, if nobody has set one: ranks
/// that forward that block in one piece would wait for each other. It grows with the square root of the block, 512 KiB
/// for 8 MiB, as the best one does in the simulator, and is longer than a short block. 0: no segments.
template <class Topology, class Op>
[[nodiscard]] std::size_t segment_for(Topology const& topology, Op const& op, partition const& blocks,
                                      std::size_t element_bytes) noexcept {
  auto const bits = std::bit_width(blocks.longest() * element_bytes);
  return blocks.share_class() != 0 && forwards_each_block_once(topology, op)
             ? std::size_t{128} << static_cast<unsigned>(bits + 1) / 2
             : 0;
}

}  // namespace detail

/// The blocks that come from all ranks, one behind the other, and their lengths.
template <element T>
struct gathered_blocks {
  std::vector<T> elements;  ///< the elements of all ranks
  partition blocks;         ///< the blocks: rank r's begins at element blocks.begin(r)
};

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/partition.ipp>
#endif
