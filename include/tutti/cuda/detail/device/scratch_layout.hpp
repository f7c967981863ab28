// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::device {

/// The layout of one part of every block in scratch memory, in elements. Each block has room for the longest one, and
/// is aligned as in the vector, so that both are moved by the same packs.
class scratch_layout {
 public:
  constexpr scratch_layout(std::size_t count, std::uint32_t blocks, std::uint32_t parts) noexcept
      : room_(room(count, blocks, parts)) {}

  /// The place of the i-th block, whose part begins at element `begin` of the vector.
  [[nodiscard]] constexpr std::size_t place(std::uint32_t i, std::size_t begin) const noexcept {
    return i * room_ + begin % pack;
  }

  /// The least number of parts, but at least `least`, with which all blocks fit `bytes` bytes; 0 if they never fit.
  [[nodiscard]] static constexpr std::uint32_t parts(std::size_t count, std::uint32_t blocks, std::size_t element,
                                                     std::size_t bytes, std::uint32_t least) noexcept {
    std::size_t const block_room = bytes / element / blocks / pack * pack;
    if (block_room < 2 * pack) {
      return 0;
    }
    std::size_t const longest = block_size(count, blocks, 0);
    std::size_t const elements = block_room - pack;
    auto const part_count = static_cast<std::uint32_t>((longest + elements - 1) / elements);
    return part_count < least ? least : part_count;
  }

 private:
  static constexpr std::size_t pack = 16;  ///< elements; at least one pack of any type

  [[nodiscard]] static constexpr std::size_t room(std::size_t count, std::uint32_t blocks,
                                                  std::uint32_t parts) noexcept {
    std::size_t const longest = block_size(block_size(count, blocks, 0), parts, 0);
    return (longest + pack - 1) / pack * pack + pack;
  }

  std::size_t room_;
};

}  // namespace tutti::detail::device
