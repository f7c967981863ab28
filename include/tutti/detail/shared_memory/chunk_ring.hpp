// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/message.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Sizes of the memory through which one rank copies messages.
struct ring_shape {
  std::size_t ring_bytes;   ///< a multiple of a cache line
  std::size_t chunk_bytes;  ///< longest copy, a multiple of a cache line

  /// Returns the sizes for ranks with a core each, or for oversubscribed cores. On an oversubscribed core the next rank
  /// evicts the cache anyway, so a smaller ring leaves more of the shared cache to vectors. The eight slots of a
  /// mailbox then announce 1 MiB in larger chunks, so a long message needs half the time slices
  /// (bench/results/long_messages.md).
  [[nodiscard]] static constexpr ring_shape recommend(bool is_oversubscribed) noexcept {
    return is_oversubscribed ? ring_shape{std::size_t{1} << 20, std::size_t{128} << 10}
                             : ring_shape{std::size_t{2} << 20, std::size_t{64} << 10};
  }

  /// The bytes of the ring and of one more chunk for each lane.
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return ring_bytes + lane_count * chunk_bytes; }
};

/// The memory to which one rank copies its outgoing messages, chunk by chunk. A chunk is free again when its reader has
/// released it.
///
/// Chunks follow each other around a ring that is larger than a core's own cache: a chunk has then left its reader's
/// cache before it is written again, which is several times cheaper (bench/results/long_messages.md). A full ring gives
/// nothing while its oldest chunk is in use. Then each lane has one chunk of its own, so that lanes never wait for each
/// other; one is enough, as schedules finish even if no send completes before its receive is reached.
///
/// Messages of up to 2 KiB first try the halves of the lane's own chunk in turn, which both cores have in their caches.
/// Two ranks that send to each other release one message while they send the next, so the other half is free.
class chunk_ring {
 public:
  /// @pre memory has shape.bytes()
  chunk_ring(std::byte* memory, ring_shape shape)
      : memory_(memory), shape_(shape), chunk_uses_(max_chunks), more_readers_(max_chunks) {}

  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return shape_.chunk_bytes; }
  /// The bytes after which the same memory is used again, at most.
  [[nodiscard]] std::size_t bytes() const noexcept { return shape_.ring_bytes; }

  /// Offers a chunk for `bytes` bytes, or returns null while readers need too much. `is_released(peer, lane, ticket)`
  /// tells.
  /// @pre bytes is at most chunk_bytes()
  template <class Free>
  [[nodiscard]] std::byte* next(std::uint32_t lane, std::size_t bytes, Free&& is_released) noexcept {
    if (bytes <= half_bytes()) {
      if (std::byte* const half = offer_lane_half(lane, is_released)) {
        return half;
      }
    }
    std::size_t const size = (bytes + line - 1) / line * line;
    // A chunk is contiguous: the rest at the end is skipped, and freed together with it.
    std::size_t const skipped_bytes = shape_.ring_bytes - head_ < size ? shape_.ring_bytes - head_ : 0;
    while (used_bytes_ + skipped_bytes + size > shape_.ring_bytes || newest_ - oldest_ == max_chunks) {
      if (oldest_ == newest_ || !all_released(use_of(oldest_), is_released)) {
        return offer_lane_chunk(lane, is_released);
      }
      used_bytes_ -= use_of(oldest_).bytes;
      ++oldest_;
    }
    offer_ = {.lane = lane, .bytes = skipped_bytes + size};
    return memory_ + (skipped_bytes != 0 ? 0 : head_);
  }

  /// Marks the offered chunk as sent. Returns the number by which `issue_again` knows it, or `no_issue`.
  std::uint64_t issue(rank_type peer, ticket last_read) noexcept {
    if (offer_.halves != 0) {
      for (std::uint32_t half = 0; half != 2; ++half) {
        if ((offer_.halves >> half & 1U) != 0) {
          lane_halves_[offer_.lane][half].last_read = last_read;
          lane_halves_[offer_.lane][half].peer = peer;
        }
      }
      next_half_[offer_.lane] ^= 1U;
      return no_issue;
    }
    chunk_use& chunk =
        use_of(newest_++);  // member by member: a copy of the whole would wait for the parts just written
    chunk.last_read = last_read;
    chunk.peer = peer;
    chunk.lane = offer_.lane;
    chunk.more_readers = 0;
    chunk.bytes = offer_.bytes;
    used_bytes_ += chunk.bytes;
    head_ += chunk.bytes;
    if (head_ >= shape_.ring_bytes) {
      head_ -= shape_.ring_bytes;
    }
    return newest_ - 1;
  }

  /// The number of a chunk that cannot be issued again.
  static constexpr std::uint64_t no_issue = UINT64_MAX;

  /// True if a chunk still holds its bytes and may have one more reader.
  [[nodiscard]] bool can_issue_again(std::uint64_t number) const noexcept {
    return number >= oldest_ && number < newest_ && (free_readers_ != 0 || allocated_readers_ != max_chunks);
  }
  /// Adds a reader of a chunk. @pre can_issue_again(number)
  void issue_again(std::uint64_t number, rank_type peer, ticket last_read) noexcept {
    std::uint32_t const reader_number = free_readers_ != 0 ? free_readers_ : ++allocated_readers_;
    reader& entry = more_readers_[reader_number - 1];
    free_readers_ = reader_number == free_readers_ ? entry.next : free_readers_;
    entry = {last_read, peer, use_of(number).more_readers};
    use_of(number).more_readers = reader_number;
  }

 private:
  static constexpr std::size_t line = 64;
  /// Messages up to this size are faster in a chunk that is in both caches.
  static constexpr std::size_t small_message = 2048;
  static constexpr std::uint64_t max_chunks = 1024;

  struct chunk_use {
    ticket last_read = 0;
    rank_type peer = no_rank;
    std::uint32_t lane = 0;
    std::size_t bytes = 0;
    std::uint32_t more_readers = 0;  ///< first further reader, counted from 1; 0: none
  };
  /// The last message in a half of a lane's own chunk.
  struct half_use {
    ticket last_read = 0;
    rank_type peer = no_rank;
  };
  struct offer {
    std::uint32_t lane = 0;
    std::uint32_t halves = 0;  ///< a bit for each half of the lane's own chunk; 0: in the ring
    std::size_t bytes = 0;     ///< in the ring
  };
  struct reader {
    ticket last_read = 0;
    rank_type peer = no_rank;
    std::uint32_t next = 0;  ///< next in its list; 0: none
  };

  [[nodiscard]] chunk_use& use_of(std::uint64_t number) const noexcept { return chunk_uses_[number % max_chunks]; }

  /// True if all readers of a chunk have released it.
  template <class Free>
  [[nodiscard]] bool all_released(chunk_use& chunk, Free&& is_released) noexcept {
    while (is_released(chunk.peer, chunk.lane, chunk.last_read)) {
      if (chunk.more_readers == 0) {
        return true;
      }
      std::uint32_t const reader_number = chunk.more_readers;
      reader& next = more_readers_[reader_number - 1];
      chunk.peer = next.peer;
      chunk.last_read = next.last_read;
      chunk.more_readers = next.next;
      next.next = free_readers_;
      free_readers_ = reader_number;
    }
    return false;
  }

  [[nodiscard]] std::size_t half_bytes() const noexcept {
    std::size_t const limit = shape_.chunk_bytes / 2 / line * line;
    return limit < small_message ? limit : small_message;
  }
  [[nodiscard]] std::byte* lane_chunk(std::uint32_t lane) const noexcept {
    return memory_ + shape_.ring_bytes + lane * shape_.chunk_bytes;
  }

  /// Offers the lane's own chunk as a whole, or returns null if a reader needs any of it.
  template <class Free>
  [[nodiscard]] std::byte* offer_lane_chunk(std::uint32_t lane, Free&& is_released) noexcept {
    if (!half_is_free(lane, 0, is_released) || !half_is_free(lane, 1, is_released)) {
      return nullptr;
    }
    offer_ = {.lane = lane, .halves = 3};
    return lane_chunk(lane);
  }
  template <class Free>
  [[nodiscard]] std::byte* offer_lane_half(std::uint32_t lane, Free&& is_released) noexcept {
    std::uint32_t const half = next_half_[lane];
    if (!half_is_free(lane, half, is_released)) {
      return nullptr;
    }
    offer_ = {.lane = lane, .halves = 1U << half};
    return lane_chunk(lane) + half * half_bytes();
  }
  template <class Free>
  [[nodiscard]] bool half_is_free(std::uint32_t lane, std::uint32_t half, Free&& is_released) const noexcept {
    half_use const& last = lane_halves_[lane][half];
    return last.last_read == 0 || is_released(last.peer, lane, last.last_read);
  }

  std::byte* memory_;
  ring_shape shape_;
  std::size_t head_ = 0;        ///< begin of the next chunk
  std::size_t used_bytes_ = 0;  ///< bytes before it that readers may need
  std::uint64_t oldest_ = 0;
  std::uint64_t newest_ = 0;
  owned_array<chunk_use> chunk_uses_;  ///< number k at k % max_chunks
  owned_array<reader> more_readers_;
  std::uint32_t allocated_readers_ = 0;  ///< entries of more_readers_ that were ever used
  std::uint32_t free_readers_ = 0;       ///< head of the list of free ones; 0: none
  half_use lane_halves_[lane_count][2];  ///< two for each lane's own chunk
  std::uint32_t next_half_[lane_count] = {};
  offer offer_;  ///< the last one of `next`
};

}  // namespace tutti::detail::shared_memory
