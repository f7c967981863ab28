// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/board.hpp>
#include <tutti/cuda/detail/device/step_table.hpp>
#include <tutti/cuda/detail/device/thread_group.hpp>
#include <tutti/extend/error.hpp>

#include <cstdint>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::device {

/// The link of one thread group to the groups with the same number on other ranks. A barrier of the group precedes
/// each word that it writes, and follows each that it waits for.
template <thread_group G>
class block_link {
 public:
  constexpr block_link(G const& g, device::board const& board, std::uint32_t group)
      : g_(g), board_(board), group_(group), counts_(board.counts[group]) {}

  [[nodiscard]] constexpr G const& threads() const noexcept { return g_; }
  [[nodiscard]] constexpr device::board const& board() const noexcept { return board_; }
  [[nodiscard]] constexpr bool is_first() const noexcept { return g_.rank() == 0; }
  [[nodiscard]] constexpr memories const& buffers(rank_type peer) const noexcept { return inbox(peer).buffers; }
  [[nodiscard]] constexpr std::byte* scratch() const noexcept { return board_.scratch + group_ * board_.scratch_bytes; }
  [[nodiscard]] constexpr std::byte const* scratch_of(rank_type peer) const noexcept {
    return board_.scratches[peer] + group_ * board_.scratch_bytes;
  }

  /// Marks this group as possibly accessing other ranks' memory. Returns false if the world has failed. Called by all
  /// threads.
  constexpr bool enter() const {
    if (is_first()) {
      g_.store_fenced(&counts_.busy, 1);
    }
    return g_.barrier_and(!is_first() || !has_ended());
  }
  /// Ends that access. Called by all threads.
  constexpr void leave() const {
    if (g_.barrier_and(true); is_first()) {
      g_.store_release(&counts_.busy, 0);
      if (group_ == 0) {
        g_.store_release(board_.progress, counts_.operation_count);
      }
    }
  }

  /// Tells all ranks this rank's call and memories, and waits for the peers. Returns false if a peer has called
  /// something else or the world has failed. Called by all threads. `peer_at(i)` is one of `count` peers.
  template <class PeerAt>
  constexpr bool begin(std::uint32_t count, PeerAt const& peer_at, memories const& buffers,
                       call const& call_record) const {
    std::uint64_t const number = counts_.operation_count + 1;
    for (rank_type r = g_.rank(); r < board_.ranks; r += g_.size()) {
      if (r != board_.rank) {
        mailbox& box = outbox(r);
        box.buffers = as_seen_by(r, buffers);
        box.call_record = call_record;
        g_.store_release(&box.operation_count, number);
      }
    }
    bool good = true;
    for (std::uint32_t i = g_.rank(); good && i < count; i += g_.size()) {
      rank_type const p = peer_at(i).rank;
      good = wait(&inbox(p).operation_count, number, p) &&
             (inbox(p).call_record.fingerprint() == call_record.fingerprint() || fail(failure::mismatch, p));
    }
    return g_.barrier_and(good);
  }
  /// Counts the operation's messages. @pre all threads have reached its end, and the first one calls this
  template <class PeerAt>
  constexpr void end(std::uint32_t count, PeerAt const& peer_at) const {
    ++counts_.operation_count;
    for (std::uint32_t i = 0; i != count; ++i) {
      table_peer const p = peer_at(i);
      counts_.sent_counts[p.rank] += p.sent_count;
      counts_.received_counts[p.rank] += p.received_count;
    }
  }
  // --- for one thread per peer; messages are numbered within the operation

  constexpr void publish_sent(rank_type peer, std::uint32_t message, bool of_snapshot) const {
    mailbox& box = outbox(peer);
    std::uint64_t const number = counts_.sent_counts[peer] + message;
    std::uint64_t const bit = std::uint64_t{1} << number % most_messages;
    std::uint64_t& bits = counts_.snapshots[peer];
    if (std::uint64_t const new_bits = of_snapshot ? bits | bit : bits & ~bit; new_bits != bits) {
      bits = new_bits;
      g_.store_release(&box.snapshots, new_bits);
    }
    g_.store_release(&box.sent_count, number);
  }
  constexpr void publish_consumed(rank_type peer, std::uint32_t message) const {
    g_.store_release(&outbox(peer).consumed_count, counts_.received_counts[peer] + message);
  }
  [[nodiscard]] constexpr bool wait_for_sent(rank_type peer, std::uint32_t message) const {
    return wait(&inbox(peer).sent_count, counts_.received_counts[peer] + message, peer);
  }
  [[nodiscard]] constexpr bool wait_for_consumed(rank_type peer, std::uint32_t messages) const {
    return wait(&inbox(peer).consumed_count, counts_.sent_counts[peer] + messages, peer);
  }

  /// True if a peer's message that has arrived is in its snapshot. Called by any thread.
  [[nodiscard]] constexpr bool is_snapshot(rank_type peer, std::uint32_t message) const {
    return (g_.load_acquire(&inbox(peer).snapshots) >> (counts_.received_counts[peer] + message) % most_messages & 1) !=
           0;
  }

 private:
  /// Translates addresses in this rank's window, which differ in another process.
  [[nodiscard]] constexpr memories as_seen_by(rank_type peer, memories m) const noexcept {
    if (std::uintptr_t const shift = board_.shifts[peer]; shift != 0) {
      auto const move = [shift](auto*& p) {
        if (p != nullptr) {
          p = reinterpret_cast<std::remove_reference_t<decltype(p)>>(reinterpret_cast<std::uintptr_t>(p) + shift);
        }
      };
      move(m.input);
      move(m.work);
      move(m.output);
    }
    return m;
  }

  static constexpr std::uint32_t reads_per_check = 64;  ///< reads between two checks for faults and the deadline

  /// The box of messages from a peer to this group.
  [[nodiscard]] constexpr mailbox const& inbox(rank_type peer) const noexcept {
    return *board_.box(board_.rank, group_, peer);
  }
  [[nodiscard]] constexpr mailbox& outbox(rank_type peer) const noexcept {
    return *board_.box(peer, group_, board_.rank);
  }

  constexpr bool wait(std::uint64_t const* word, std::uint64_t least, rank_type peer) const {
    for (std::uint32_t i = 1; g_.load_acquire(word) < least; ++i) {
      if (i % reads_per_check == 0) {
        if (has_ended() || g_.load_acquire(board_.fault) != 0) {
          return false;
        }
        if (g_.is_late()) {
          return fail(failure::deadline, late(peer));
        }
      }
      g_.pause();
    }
    return true;
  }
  /// True if a rank has ended the current operation; tells this rank's host.
  [[nodiscard]] constexpr bool has_ended() const {
    std::uint64_t const packed_fault = g_.load_acquire(board_.stops[board_.rank]);
    if (packed_fault != 0) {
      g_.store_release(board_.fault, packed_fault);
    }
    return packed_fault != 0;
  }
  /// The rank to blame while waiting for `peer`: one that has not begun, if any, as the peer may wait for it, too.
  [[nodiscard]] constexpr rank_type late(rank_type peer) const {
    for (rank_type i = 0; i != board_.ranks; ++i) {
      rank_type const r = (peer + i) % board_.ranks;
      if (r != board_.rank && g_.load_acquire(&inbox(r).operation_count) <= counts_.operation_count) {
        return r;
      }
    }
    return peer;
  }
  /// Ends the operations of all ranks, now and later. If several fail at once, any of the faults may be the one that
  /// is kept.
  constexpr bool fail(failure kind, rank_type culprit) const {
    if (has_ended()) {
      return false;
    }
    std::uint64_t const packed_fault = tutti::fault{.kind = kind, .culprit = culprit, .reporter = board_.rank}.pack();
    g_.store_release(board_.fault, packed_fault);
    for (rank_type r = 0; r != board_.ranks; ++r) {
      g_.store_release(board_.stops[r], packed_fault);
    }
    return false;
  }

  G const& g_;
  device::board const& board_;
  std::uint32_t group_;
  block_counts& counts_;
};

}  // namespace tutti::detail::device
