// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/message.hpp>
#include <tutti/core/owned.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti {

/// The chunks of shared memory that one rank copies its outgoing messages to, the same number for
/// each lane, so that lanes never wait for each other. A chunk is free again when its reader has
/// released it. That they are few cannot block a schedule: it finishes even if no send completes before
/// its receive is reached. What `send` and `recv` do is no schedule, and has the slots to fall back on.
class chunk_pool {
 public:
  chunk_pool(std::byte* memory, std::size_t chunk_bytes, std::uint32_t chunks)
      : memory_(memory), chunk_bytes_(chunk_bytes), chunks_(chunks), loans_(count(chunks)) {}

  [[nodiscard]] static constexpr std::size_t bytes(std::size_t chunk_bytes, std::uint32_t chunks) noexcept {
    return count(chunks) * chunk_bytes;
  }
  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }

  /// The next chunk of the lane, or null while its reader needs it: `free(peer, ticket)` says.
  template <class Free>
  [[nodiscard]] std::byte* next(std::uint32_t lane, Free&& free) noexcept {
    for (std::uint32_t tried = 0; tried != chunks_; ++tried) {
      loan& l = current(lane);
      if (l.until == 0 || free(l.peer, l.until)) {
        l.until = 0;
        return memory_ + (std::size_t{lane} * chunks_ + at_[lane]) * chunk_bytes_;
      }
      advance(lane);
    }
    return nullptr;
  }

  /// The chunk that `next` gave is on its way.
  void lend(std::uint32_t lane, rank_type peer, ticket until) noexcept {
    current(lane) = {until, peer};
    advance(lane);
  }

 private:
  struct loan {
    ticket until = 0;
    rank_type peer = no_rank;
  };

  static constexpr std::size_t count(std::uint32_t chunks) noexcept { return std::size_t{lane_count} * chunks; }
  [[nodiscard]] loan& current(std::uint32_t lane) noexcept { return loans_[std::size_t{lane} * chunks_ + at_[lane]]; }
  void advance(std::uint32_t lane) noexcept { at_[lane] = at_[lane] + 1 == chunks_ ? 0 : at_[lane] + 1; }

  std::byte* memory_;
  std::size_t chunk_bytes_;
  std::uint32_t chunks_;
  std::uint32_t at_[lane_count] = {};
  owned_array<loan> loans_;
};

}  // namespace tutti
