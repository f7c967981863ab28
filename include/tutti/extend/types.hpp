// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0 {

/// A rank: the number of a member of a communicator, 0 <= rank < size.
using rank_type = std::uint32_t;

/// The value that stands for no rank.
inline constexpr rank_type no_rank = UINT32_MAX;

/// A cyclic range of the blocks that an operation cuts its vector into: `first, first + 1, ...` modulo the number of
/// blocks. Ranges wrap, because subtrees of a rotated tree do.
struct block_range {
  std::uint32_t first = 0;  ///< the first block, below the number of blocks
  std::uint32_t count = 0;  ///< number of blocks, which may wrap around the end

  friend constexpr bool operator==(block_range, block_range) = default;

  /// True if the two ranges share a block, out of `blocks` in all.
  [[nodiscard]] constexpr bool overlaps(block_range other, std::uint32_t blocks) const noexcept {
    if (count == 0 || other.count == 0) {
      return false;
    }
    if (blocks == 1) {
      return true;
    }
    const std::uint32_t distance_ahead = (other.first + blocks - first) % blocks;
    const std::uint32_t distance_back = (first + blocks - other.first) % blocks;
    return distance_ahead < count || distance_back < other.count;
  }
};

/// The first element of block `b`, if `count` elements are cut into `blocks` contiguous blocks, whose lengths differ
/// by at most one, longer ones first. `block_begin(count, blocks, blocks) == count`.
[[nodiscard]] constexpr std::size_t block_begin(std::size_t count, std::size_t blocks, std::size_t b) noexcept {
  const std::size_t base = count / blocks;
  const std::size_t longer = count % blocks;
  return b * base + (b < longer ? b : longer);
}

/// The number of elements of block `b`. `reduce_scatter` and `scatter` give rank `b` this many; `gather` and
/// `allgather` take as many from it. `count` is the sum over all ranks, the `total` of `gather` and `scatter`.
[[nodiscard]] constexpr std::size_t block_size(std::size_t count, std::size_t blocks, std::size_t b) noexcept {
  return count / blocks + (b < count % blocks ? 1 : 0);
}

}  // namespace tutti
