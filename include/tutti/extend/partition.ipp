// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/partition.hpp>

namespace tutti::inline v0_1_0 {

TUTTI_DECL partition::partition(std::span<std::size_t const> lengths) : begins_(lengths.size() + 1) {
  std::uint64_t hash = 0x243f6a8885a308d3U;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    expects(lengths[r] <= SIZE_MAX - begins_[r], "partition: the lengths of the blocks up to rank ", r,
            " exceed the largest number of elements, ", SIZE_MAX, "; one of them is wrong");
    begins_[r + 1] = begins_[r] + lengths[r];
    longest_ = longest_ < lengths[r] ? lengths[r] : longest_;
    hash = (hash ^ lengths[r]) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 31;
  }
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    if (lengths[r] != block_size(count(), lengths.size(), r)) {
      identity_ = static_cast<std::uint32_t>(hash) | 1U;
    }
  }
}

}  // namespace tutti
