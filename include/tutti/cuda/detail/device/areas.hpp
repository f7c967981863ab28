// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/memories.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::device {

// If ranks are apart, a part of every block of a rank's memories is in areas of a group's scratch memory: that of
// block b begins at element `scratch_layout::place`. Memories that share the user's memory share an area.

/// The index of an area: see `board`. A memory that the rank does not have counts as `work`, or is never asked for.
[[nodiscard]] constexpr std::size_t area_number(memories const& user_memories, memory m) noexcept {
  std::byte const* const base = user_memories.base(m);
  if (base != nullptr && base == user_memories.output) {
    return 3;
  }
  return m == memory::work || (base != nullptr && base == user_memories.work) ? 1 : 2;
}
/// The memories that peers are told instead of the user's.
[[nodiscard]] constexpr memories areas(memories const& user_memories, std::byte* scratch,
                                       std::size_t area_bytes) noexcept {
  return {
      .input =
          user_memories.input == nullptr ? nullptr : scratch + area_number(user_memories, memory::input) * area_bytes,
      .work = user_memories.work == nullptr ? nullptr : scratch + area_number(user_memories, memory::work) * area_bytes,
      .output = user_memories.output == nullptr ? nullptr : scratch + 3 * area_bytes};
}

}  // namespace tutti::detail::device
