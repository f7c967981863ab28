// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/chunk_ring.hpp>
#include <tutti/detail/shared_memory/copied_message.hpp>
#include <tutti/detail/shared_memory/copy_strategy.hpp>
#include <tutti/detail/shared_memory/mailbox_endpoint.hpp>
#include <tutti/detail/shared_memory/streaming_copy.hpp>

#include <cstring>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Sends a rank's messages. The way of a message depends on its size and on the memory that it is in:
///
///     inline    up to 96 bytes: in one or two slots (mailbox)
///     copied    to a chunk of shared memory, chunk by chunk (chunk_ring): all others
///     shared    the peer reads it in place: from `share_folds_from` or `share_moves_from` bytes, in mapped memory
///     lent      the peer also writes its result in place: from `lend_from` bytes, if the schedule sends the block back
///     attached  the peer's system copies it from private memory (attached_messages): by the option `attach_from`
///
/// Sharing saves a copy. But memory that a peer has read costs its owner a message between caches to write again, and
/// so a copy into reused chunks is cheaper up to some size (bench/results/long_messages.md), and the sender need not
/// wait for readers. Beyond, the copy would go through main memory, which costs more.
template <class Endpoint>
class outbox {
 public:
  /// Sizes from which messages are shared, if they are combined and if they are only moved.
  static constexpr std::size_t share_folds_from = std::size_t{512} << 10;
  static constexpr std::size_t share_moves_from = std::size_t{8} << 20;
  /// Loans begin sooner: a line that the peer has read and then written returns at the price of one transfer, and no
  /// second message is copied.
  static constexpr std::size_t lend_from = 512;
  /// Shorter copies always go through the caches.
  static constexpr std::size_t streams_from = 4096;

  outbox(Endpoint& endpoint, chunk_ring ring)
      : endpoint_(&endpoint), ring_(std::move(ring)), copy_paths_(ring_.bytes()) {}

  void begin(flow s, call const& own_call) noexcept {
    moves_[s.lane] = !combines(own_call.kind);
    copies_[s.lane].begin(false);
  }
  /// @see reuses_copies
  void next_message(flow s, bool repeats_last) noexcept { copies_[s.lane].begin(repeats_last); }

  /// The longest copy: longer elements arrive in parts.
  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return ring_.chunk_bytes(); }

  /// True if the flow's messages are only moved.
  [[nodiscard]] bool moves(flow s) const noexcept { return moves_[s.lane]; }

  /// True if sharing a message is cheaper than copying it, provided that the peer can reach it.
  [[nodiscard]] bool shares(flow s, std::size_t bytes) const noexcept {
    return bytes >= (moves(s) ? share_moves_from : share_folds_from);
  }

  /// True if lending a message that is sent back is cheaper, provided that the peer can reach it.
  [[nodiscard]] bool lends(std::size_t bytes) const noexcept {
    return bytes >= lend_from && bytes <= mailbox::slot::max_bytes;
  }
  /// Lends a message: the peer reads it in place and writes its result to `result_place`. @pre the peer can reach both
  send_result lend(rank_type peer, flow s, std::span<std::byte const> bytes, std::byte* result_place) noexcept {
    return endpoint_->share(peer, s, bytes, result_place);
  }

  /// Sends a message, read in place by the peer if `share`. @see transport
  send_result send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule, bool share) {
    send_result const result =
        bytes.size() <= mailbox::max_inline ? endpoint_->post(peer, s, bytes)
        : share ? endpoint_->share(peer, s, bytes.first(send_size(bytes.size(), mailbox::slot::max_bytes, granule)))
        : endpoint_->is_full(peer, s) ? send_result{}
                                      : send_copy(peer, s, bytes, granule);
    copies_[s.lane].advance(result.bytes);
    return result;
  }

  /// Reserves a chunk until the peer has released a message; null while there is none.
  [[nodiscard]] std::byte* reserve(rank_type peer, std::uint32_t lane, ticket last_read) {
    std::byte* const chunk = next_chunk(lane, ring_.chunk_bytes());
    if (chunk != nullptr) {
      ring_.issue(peer, last_read);
    }
    return chunk;
  }

  /// The bytes to send at a time: whole granules, or a part of one that is longer.
  static std::size_t send_size(std::size_t bytes, std::size_t limit, std::size_t granule) noexcept {
    if (bytes <= limit) {
      return bytes;
    }
    if (granule <= limit) {
      return limit - limit % granule;
    }
    std::size_t const remainder = bytes % granule;  // a granule was sent in part
    return remainder != 0 && remainder < limit ? remainder : limit;
  }

 private:
  [[nodiscard]] std::byte* next_chunk(std::uint32_t lane, std::size_t bytes) {
    return ring_.next(lane, bytes, [&](rank_type r, std::uint32_t used_lane, ticket number) {
      return endpoint_->acknowledged_or_gone(r, used_lane, number);
    });
  }

  /// @pre the mailbox has a free slot
  send_result send_copy(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    copied_message& copies = copies_[s.lane];
    if (auto const* const part = copies.next();
        part != nullptr && part->bytes <= bytes.size() && ring_.can_issue_again(part->issue)) {
      ring_.issue_again(part->issue, peer, endpoint_->point_to(peer, s, {part->chunk, part->bytes}).release_ticket);
      return {true, part->bytes, 0};
    }
    std::size_t const n = send_size(bytes.size(), ring_.chunk_bytes(), granule);
    if (n <= mailbox::max_inline) {  // the receiver expects a message of this length in its slot
      return endpoint_->post(peer, s, bytes.first(n));
    }
    std::byte* const chunk = next_chunk(s.lane, n);
    if (chunk == nullptr) {
      // A send must not wait for another pair of ranks: slots belong to one pair.
      bool const is_inline = s.lane == transfer_lane && granule <= mailbox::max_inline;
      return is_inline ? endpoint_->post(peer, s, bytes.first(send_size(bytes.size(), mailbox::max_inline, granule)))
                       : send_result{};
    }
    copy(chunk, bytes.first(n));
    copies.record_copy(chunk, n, ring_.issue(peer, endpoint_->point_to(peer, s, {chunk, n}).release_ticket));
    return {true, n, 0};
  }

  /// Copies to a chunk.
  void copy(std::byte* chunk, std::span<std::byte const> bytes) noexcept {
    if (!can_stream || bytes.size() < streams_from) {
      std::memcpy(chunk, bytes.data(), bytes.size());
      return;
    }
    auto const [path, is_timed] = copy_paths_.next();
    time_point const begin = is_timed ? steady_now() : time_point{};
    if (path == copy_strategy::path::past_caches) {
      streaming_copy(chunk, bytes.data(), bytes.size());
    } else {
      std::memcpy(chunk, bytes.data(), bytes.size());
    }
    if (is_timed) {
      copy_paths_.record_time(path, bytes.size(), steady_now() - begin);
    }
  }

  Endpoint* endpoint_;
  chunk_ring ring_;
  copy_strategy copy_paths_;
  bool moves_[lane_count] = {};
  copied_message copies_[lane_count];
};

}  // namespace tutti::detail::shared_memory
