// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/message.hpp>
#include <tutti/core/owned.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti {

/// The memory that one rank copies its outgoing messages to, chunk by chunk. A chunk is free again when
/// its reader has released it.
///
/// Chunks follow each other around a ring, which is larger than a processor's own cache: so a chunk has
/// left its reader's cache before it is written again, for to write where another processor has just read
/// is several times dearer (docs/performance.md). While the oldest chunk is in use a full ring gives no
/// more; then there is one chunk for each lane, so that lanes never wait for each other. (The shortest
/// messages take that one first: they are the quicker the hotter it is.) That it may be only one cannot block a
/// schedule: it finishes even if no send completes before its receive is reached.
class chunk_ring {
 public:
  /// @pre both are multiples of a cache line
  chunk_ring(std::byte* memory, std::size_t ring_bytes, std::size_t chunk_bytes)
      : memory_(memory), ring_bytes_(ring_bytes), chunk_bytes_(chunk_bytes), loans_(most_loans) {}

  [[nodiscard]] static constexpr std::size_t bytes(std::size_t ring_bytes, std::size_t chunk_bytes) noexcept {
    return ring_bytes + lane_count * chunk_bytes;
  }
  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }

  /// A chunk for so many bytes, or null while readers need too much: `free(peer, lane, ticket)` says.
  /// @pre bytes is at most chunk_bytes()
  template <class Free>
  [[nodiscard]] std::byte* next(std::uint32_t lane, std::size_t bytes, Free&& free) noexcept {
    if (bytes <= small) {
      if (std::byte* const chunk = own(lane, free)) {
        return chunk;
      }
    }
    std::size_t const size = (bytes + line - 1) / line * line;
    // A chunk lies in one piece: what is left at the end is skipped, and comes back with it.
    std::size_t const skipped = ring_bytes_ - head_ < size ? ring_bytes_ - head_ : 0;
    while (used_ + skipped + size > ring_bytes_ || newest_ - oldest_ == most_loans) {
      if (oldest_ == newest_ || !free(oldest().peer, oldest().lane, oldest().until)) {
        return own(lane, free);
      }
      used_ -= oldest().bytes;
      ++oldest_;
    }
    offered_ = {0, no_rank, lane, skipped + size};
    return memory_ + (skipped != 0 ? 0 : head_);
  }

  /// The chunk that `next` gave is on its way.
  void lend(rank_type peer, ticket until) noexcept {
    offered_.until = until;
    offered_.peer = peer;
    if (offered_.bytes == 0) {
      own_[offered_.lane] = offered_;
      return;
    }
    loans_[newest_++ % most_loans] = offered_;
    used_ += offered_.bytes;
    head_ += offered_.bytes;
    if (head_ >= ring_bytes_) {
      head_ -= ring_bytes_;
    }
  }

 private:
  static constexpr std::size_t line = 64;
  /// So few bytes are written faster where both processors have them at hand.
  static constexpr std::size_t small = 2048;
  static constexpr std::uint64_t most_loans = 1024;

  struct loan {
    ticket until = 0;
    rank_type peer = no_rank;
    std::uint32_t lane = 0;
    std::size_t bytes = 0;  ///< of the ring; 0: the lane's own chunk
  };

  [[nodiscard]] loan& oldest() const noexcept { return loans_[oldest_ % most_loans]; }

  template <class Free>
  [[nodiscard]] std::byte* own(std::uint32_t lane, Free&& free) noexcept {
    if (own_[lane].until != 0 && !free(own_[lane].peer, lane, own_[lane].until)) {
      return nullptr;
    }
    offered_ = {0, no_rank, lane, 0};
    return memory_ + ring_bytes_ + lane * chunk_bytes_;
  }

  std::byte* memory_;
  std::size_t ring_bytes_;
  std::size_t chunk_bytes_;
  std::size_t head_ = 0;  ///< where the next chunk begins
  std::size_t used_ = 0;  ///< bytes behind it that readers need, or may need
  std::uint64_t oldest_ = 0;
  std::uint64_t newest_ = 0;
  owned_array<loan> loans_;  ///< number k at k % most_loans
  loan own_[lane_count];     ///< of the lanes' own chunks
  loan offered_;             ///< what `next` gave
};

}  // namespace tutti
