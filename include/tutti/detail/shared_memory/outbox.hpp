// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/chunk_ring.hpp>
#include <tutti/detail/shared_memory/copied_message.hpp>
#include <tutti/detail/shared_memory/copy_account.hpp>
#include <tutti/detail/shared_memory/mailbox_endpoint.hpp>
#include <tutti/detail/shared_memory/streaming_copy.hpp>

#include <cstring>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// How the messages of one rank leave it: beside their flag, in one cache line or two, copied to a chunk of
/// shared memory, or shared, that is read by the peer where they are.
///
/// To share saves a copy. But what a peer has read its owner can only write again at the price of telling
/// the peer's cache; and so up to some size the copy, out of the owner's cache into chunks that are used
/// in turn, costs less in all (bench/results/long_messages.md). And a sender that has copied need not wait for readers.
/// Beyond, the copy would go through memory, which costs more than telling.
template <class Endpoint>
class outbox {
 public:
  /// Messages that are combined are shared from the first number of bytes on, those that are only moved from the
  /// second.
  static constexpr std::size_t share_folds_from = std::size_t{512} << 10;
  static constexpr std::size_t share_moves_from = std::size_t{8} << 20;
  /// What the peer writes back is lent sooner: a line that it has read and then written is its owner's to
  /// write again at the price of one transfer, and there is no second message to copy.
  static constexpr std::size_t lend_from = 512;
  /// Copies of fewer bytes always go through the caches.
  static constexpr std::size_t streams_from = 4096;

  outbox(Endpoint& endpoint, chunk_ring ring)
      : endpoint_(&endpoint), ring_(std::move(ring)), copy_paths_(ring_.bytes()) {}

  void begin(flow s, call const& own_call) noexcept {
    moves_[s.lane] = !combines(own_call.kind);
    copies_[s.lane].begin(false);
  }
  /// @see repeats
  void next_message(flow s, bool repeats_last) noexcept { copies_[s.lane].begin(repeats_last); }

  /// What is copied at a time, at most: longer elements arrive in parts.
  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return ring_.chunk_bytes(); }

  /// Whether the flow's messages are only moved.
  [[nodiscard]] bool moves(flow s) const noexcept { return moves_[s.lane]; }

  /// Whether a message is better shared than copied, if the peer can reach it.
  [[nodiscard]] bool shares(flow s, std::size_t bytes) const noexcept {
    return bytes >= (moves(s) ? share_moves_from : share_folds_from);
  }

  /// Whether a message that comes back is better lent, if the peer can reach it.
  [[nodiscard]] bool lends(std::size_t bytes) const noexcept {
    return bytes >= lend_from && bytes <= mailbox::slot::max_bytes;
  }
  /// The peer reads it where it is and writes what it makes of it to `back`. @pre the peer can reach both
  sent lend(rank_type peer, flow s, std::span<std::byte const> bytes, std::byte* result_place) noexcept {
    return endpoint_->share(peer, s, bytes, result_place);
  }

  /// `share`: the peer reads it where it is. @see transport
  sent send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule, bool share) {
    sent const result =
        bytes.size() <= mailbox::max_inline ? endpoint_->post(peer, s, bytes)
        : share ? endpoint_->share(peer, s, bytes.first(send_size(bytes.size(), mailbox::slot::max_bytes, granule)))
        : endpoint_->is_full(peer, s) ? sent{}
                                      : send_copy(peer, s, bytes, granule);
    copies_[s.lane].advance(result.bytes);
    return result;
  }

  /// A chunk that is the peer's until it releases a message; null while there is none.
  [[nodiscard]] std::byte* reserve(rank_type peer, std::uint32_t lane, ticket last_read) {
    std::byte* const chunk = next_chunk(lane, ring_.chunk_bytes());
    if (chunk != nullptr) {
      ring_.issue(peer, last_read);
    }
    return chunk;
  }

  /// The number of bytes to send at a time: whole granules, or a part of one that is longer.
  static std::size_t send_size(std::size_t bytes, std::size_t limit, std::size_t granule) noexcept {
    if (bytes <= limit) {
      return bytes;
    }
    if (granule <= limit) {
      return limit - limit % granule;
    }
    std::size_t const remainder = bytes % granule;  // of the one that has been sent in part
    return remainder != 0 && remainder < limit ? remainder : limit;
  }

 private:
  [[nodiscard]] std::byte* next_chunk(std::uint32_t lane, std::size_t bytes) {
    return ring_.next(lane, bytes, [&](rank_type r, std::uint32_t used_lane, ticket number) {
      return endpoint_->acknowledged_or_gone(r, used_lane, number);
    });
  }

  /// @pre the mailbox has room
  sent send_copy(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    copied_message& copies = copies_[s.lane];
    if (auto const* const part = copies.next();
        part != nullptr && part->bytes <= bytes.size() && ring_.can_issue_again(part->issue)) {
      ring_.issue_again(part->issue, peer, endpoint_->point_to(peer, s, {part->place, part->bytes}).until);
      return {true, part->bytes, 0};
    }
    std::size_t const n = send_size(bytes.size(), ring_.chunk_bytes(), granule);
    if (n <= mailbox::max_inline) {  // its length says that it lies beside its flag
      return endpoint_->post(peer, s, bytes.first(n));
    }
    std::byte* const chunk = next_chunk(s.lane, n);
    if (chunk == nullptr) {
      // Pairs of ranks that send and recv must not wait for each other: the slots belong to one pair.
      bool const is_inline = s.lane == transfer_lane && granule <= mailbox::max_inline;
      return is_inline ? endpoint_->post(peer, s, bytes.first(send_size(bytes.size(), mailbox::max_inline, granule)))
                       : sent{};
    }
    copy(chunk, bytes.first(n));
    copies.record_copy(chunk, n, ring_.issue(peer, endpoint_->point_to(peer, s, {chunk, n}).until));
    return {true, n, 0};
  }

  /// To a chunk.
  void copy(std::byte* chunk, std::span<std::byte const> bytes) noexcept {
    if (!can_stream || bytes.size() < streams_from) {
      std::memcpy(chunk, bytes.data(), bytes.size());
      return;
    }
    auto const [path, is_timed] = copy_paths_.next();
    time_point const begin = is_timed ? steady_now() : time_point{};
    if (path == copy_account::path::past_caches) {
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
  copy_account copy_paths_;
  bool moves_[lane_count] = {};
  copied_message copies_[lane_count];
};

}  // namespace tutti::detail::shared_memory
