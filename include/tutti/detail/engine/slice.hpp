// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

namespace tutti::inline v0_1_0::detail::inline engine {

/// Maps the blocks of one segment to elements of the vector.
///
/// If blocks only share the work (allreduce, reduce, broadcast), the vector is cut into segments and each segment into
/// blocks. If a block's place is part of the result (gather and the like), each block is cut, and a segment holds one
/// part of each; these blocks may have the lengths of a partition.
class slice {
 public:
  constexpr slice() noexcept = default;

  /// Part `part` of `parts` of every block of segment [first, first + count). `begins`: the begins of the blocks, and
  /// the end of the last; null: they are equal.
  constexpr slice(std::size_t first, std::size_t count, std::uint32_t blocks, std::uint32_t part, std::uint32_t parts,
                  std::size_t const* begins = nullptr) noexcept
      : first_(first),
        shortest_(count / blocks),
        begins_(begins),
        longer_blocks_(static_cast<std::uint32_t>(count % blocks)),
        blocks_(blocks),
        part_(part),
        parts_(parts),
        form_(parts != 1 || begins != nullptr ? form::other
              : blocks == 1                   ? form::one_block
                                              : form::equal_blocks) {}

  /// Segment [first, first + count) of a vector, cut into blocks.
  [[nodiscard]] static constexpr slice of_vector(std::size_t first, std::size_t count, std::uint32_t blocks) noexcept {
    return slice{first, count, blocks, 0, 1};
  }

  /// Part `part` of `parts` of every block of a vector.
  [[nodiscard]] static constexpr slice of_blocks(std::size_t count, std::uint32_t blocks, std::uint32_t part,
                                                 std::uint32_t parts, std::size_t const* begins = nullptr) noexcept {
    return slice{0, count, blocks, part, parts, begins};
  }

  [[nodiscard]] constexpr std::uint32_t blocks() const noexcept { return blocks_; }

  /// The first element of block `b`.
  [[nodiscard]] constexpr std::size_t begin(std::uint32_t b) const noexcept {
    return first_ + whole_begin(b) + block_begin(whole_size(b), parts_, part_);
  }

  /// The number of elements of block `b`.
  [[nodiscard]] constexpr std::size_t size(std::uint32_t b) const noexcept {
    return block_size(whole_size(b), parts_, part_);
  }

  /// The longest contiguous part of `range` from its block number `skip` on: first element, and numbers of elements and
  /// blocks. The engine sends one message for each.
  struct interval {
    std::size_t begin;
    std::size_t count;
    std::uint32_t blocks;
  };
  [[nodiscard, gnu::always_inline]] constexpr interval interval_at(block_range range,
                                                                   std::uint32_t skip) const noexcept {
    if (form_ == form::one_block) {
      return {first_, range.count == 0 ? 0 : shortest_, 1};
    }
    std::uint32_t b = range.first + skip;
    b = b >= blocks_ ? b - blocks_ : b;
    if (form_ == form::other && parts_ != 1) {
      return {begin(b), size(b), 1};
    }
    const std::uint32_t left = range.count - skip;
    const std::uint32_t interval_blocks = left < blocks_ - b ? left : blocks_ - b;
    if (form_ == form::other) [[unlikely]] {
      return {begins_[b], begins_[b + interval_blocks] - begins_[b], interval_blocks};
    }
    const std::size_t offset = equal_begin(b);
    return {first_ + offset, equal_begin(b + interval_blocks) - offset, interval_blocks};
  }

  /// The number of elements in a range of blocks.
  [[nodiscard]] constexpr std::size_t elements_in(block_range range) const noexcept {
    std::size_t count = 0;
    for (std::uint32_t skip = 0; skip < range.count;) {
      interval const part = interval_at(range, skip);
      count += part.count;
      skip += part.blocks;
    }
    return count;
  }

 private:
  /// The kinds of slices that `interval_at` tells apart: whole equal blocks, and all others.
  enum class form : std::uint32_t { one_block, equal_blocks, other };

  /// The begin and the size of block `b` in the segment, all parts together.
  [[nodiscard]] constexpr std::size_t whole_begin(std::uint32_t b) const noexcept {
    return begins_ != nullptr ? begins_[b] : equal_begin(b);
  }
  [[nodiscard]] constexpr std::size_t whole_size(std::uint32_t b) const noexcept {
    return whole_begin(b + 1) - whole_begin(b);
  }
  /// The begin of an equal block: `block_begin` without its division.
  [[nodiscard]] constexpr std::size_t equal_begin(std::uint32_t b) const noexcept {
    return b * shortest_ + (b < longer_blocks_ ? b : longer_blocks_);
  }

  std::size_t first_ = 0;
  std::size_t shortest_ = 0;             ///< elements of an equal block, unless it is one of the longer ones
  std::size_t const* begins_ = nullptr;  ///< the begins of blocks, and the end of the last; null: they are equal
  std::uint32_t longer_blocks_ = 0;      ///< number of equal blocks that have one element more
  std::uint32_t blocks_ = 1;
  std::uint32_t part_ = 0;
  std::uint32_t parts_ = 1;
  form form_ = form::one_block;
};

}  // namespace tutti::detail::engine
