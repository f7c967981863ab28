// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::device {

/// A vector of blocks, cut into parts that are themselves vectors of as many blocks. Each part has an equal number of
/// elements of each block, and the last part the rest. So a part that is run alone, its elements contiguous, has the
/// bits that it has in the whole, for any number of parts.
class vector_parts {
 public:
  /// A vector of no elements.
  constexpr vector_parts() noexcept = default;
  /// @param max_elements the most elements of a part
  vector_parts(std::size_t count, std::uint32_t blocks, std::size_t max_elements)
      : count_(count), blocks_(blocks), block_elements_(max_elements / blocks) {
    std::size_t const longest = block_size(count, blocks, 0);
    std::size_t const parts = longest == 0 ? 1 : (longest - 1) / block_elements_ + 1;
    expects(parts <= UINT32_MAX, "a vector of ", count, " elements would be ", parts,
            " parts, more than 2^32; raise the transport's option slot_bytes");
    number_ = static_cast<std::uint32_t>(parts);
  }

  [[nodiscard]] constexpr std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] constexpr std::size_t count(std::uint32_t part) const noexcept {
    return part + 1 == number_ ? count_ - begin(part) * blocks_ : block_elements_ * blocks_;
  }

  /// Calls f(place in the vector, place in the part, count) for the elements of a part between `first` and `last` of
  /// the vector, with as few calls as possible.
  template <class F>
  void for_each_run(std::uint32_t part, std::size_t first, std::size_t last, F const& f) const {
    std::size_t const elements = count(part);
    std::size_t vector_begin = 0;
    std::size_t part_begin = 0;
    std::size_t size = 0;
    for (std::uint32_t b = 0; b != blocks_; ++b) {
      std::size_t const block = block_begin(count_, blocks_, b) + begin(part);
      std::size_t const block_limit = block + block_size(elements, blocks_, b);
      std::size_t const run_begin = block < first ? first : block;
      std::size_t const run_end = block_limit > last ? last : block_limit;
      if (run_begin >= run_end) {
        continue;
      }
      std::size_t const place = block_begin(elements, blocks_, b) + (run_begin - block);
      if (size != 0 && vector_begin + size == run_begin && part_begin + size == place) {
        size += run_end - run_begin;
        continue;
      }
      if (size != 0) {
        f(vector_begin, part_begin, size);
      }
      vector_begin = run_begin;
      part_begin = place;
      size = run_end - run_begin;
    }
    if (size != 0) {
      f(vector_begin, part_begin, size);
    }
  }

 private:
  /// The offset of a part in each block.
  [[nodiscard]] constexpr std::size_t begin(std::uint32_t part) const noexcept { return part * block_elements_; }

  std::size_t count_ = 0;
  std::uint32_t blocks_ = 1;
  std::size_t block_elements_ = 1;
  std::uint32_t number_ = 1;
};

}  // namespace tutti::detail::device
