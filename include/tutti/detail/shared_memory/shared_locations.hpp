// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/shared_memory/shared_arena.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Encodes addresses as locations, words that other ranks understand. A location is an offset into the memory of one
/// communicator, a window and an offset in one rank's part of the shared memory (shared_arena), or an address in one
/// rank's private memory, which others have not mapped and can at most copy from (peer_memory).
class shared_locations {
 public:
  static constexpr bool one_process = false;

  shared_locations(std::byte* memory, std::size_t bytes, shared_arena& arena, rank_type const* owners) noexcept
      : memory_(memory), bytes_(bytes), arena_(&arena), owners_(owners) {}

  [[nodiscard]] std::uint64_t encode(void const* address) const noexcept {
    std::uintptr_t const offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(memory_);
    if (offset < bytes_) {
      return offset;
    }
    std::uint64_t const in_arena = arena_->locate(address);
    return in_arena != 0 ? in_arena : private_memory | reinterpret_cast<std::uintptr_t>(address);
  }
  /// The address in this process of a location in a rank's memory; for private memory, the address in that rank.
  /// @throws error if it has no address space to map it; not the second time
  [[nodiscard]] std::byte* decode(rank_type owner, std::uint64_t location) const {
    if (location < bytes_) [[likely]] {
      return memory_ + integer_cast<std::size_t>(location);
    }
    if (is_private(location)) {
      return reinterpret_cast<std::byte*>(integer_cast<std::uintptr_t>(location & ~private_memory));
    }
    return arena_->address_of(owners_[owner], location);
  }

  [[nodiscard]] static constexpr bool is_private(std::uint64_t location) noexcept {
    return (location & private_memory) != 0;
  }
  /// True if others can map it, and so load and store there.
  [[nodiscard]] bool is_shared(void const* address) const noexcept { return !is_private(encode(address)); }

 private:
  static constexpr std::uint64_t private_memory = std::uint64_t{1} << 63;

  std::byte* memory_;
  std::size_t bytes_;
  shared_arena* arena_;
  rank_type const* owners_;  ///< part of the shared memory that each rank owns
};

}  // namespace tutti::detail::shared_memory
