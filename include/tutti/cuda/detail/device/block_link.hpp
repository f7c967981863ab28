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
  constexpr block_link(G const& g, board const& on, std::uint32_t group)
      : g_(g), on_(on), group_(group), counts_(on.counts[group]) {}

  [[nodiscard]] constexpr G const& threads() const noexcept { return g_; }
  [[nodiscard]] constexpr board const& on() const noexcept { return on_; }
  [[nodiscard]] constexpr bool is_first() const noexcept { return g_.rank() == 0; }
  [[nodiscard]] constexpr memories const& where(rank_type peer) const noexcept { return from(peer).where; }
  [[nodiscard]] constexpr std::byte* scratch() const noexcept { return on_.scratch + group_ * on_.scratch_bytes; }
  [[nodiscard]] constexpr std::byte const* scratch_of(rank_type peer) const noexcept {
    return on_.scratches[peer] + group_ * on_.scratch_bytes;
  }

  /// Marks this group as possibly accessing other ranks' memory. Returns false if the world has failed. Called by all
  /// threads.
  constexpr bool enter() const {
    if (is_first()) {
      g_.announce(&counts_.busy, 1);
    }
    return g_.all(!is_first() || !has_ended());
  }
  /// Ends that access. Called by all threads.
  constexpr void leave() const {
    if (g_.all(true); is_first()) {
      g_.tell(&counts_.busy, 0);
      if (group_ == 0) {
        g_.tell(on_.progress, counts_.begun);
      }
    }
  }

  /// Tells all ranks this rank's call and memories, and waits for the peers. Returns false if a peer has called
  /// something else or the world has failed. Called by all threads. `peer_at(i)` is one of `count` peers.
  template <class PeerAt>
  constexpr bool begin(std::uint32_t count, PeerAt const& peer_at, memories const& mine, call const& what) const {
    std::uint64_t const number = counts_.begun + 1;
    for (rank_type r = g_.rank(); r < on_.ranks; r += g_.size()) {
      if (r != on_.rank) {
        mailbox& there = to(r);
        there.where = as_seen_by(r, mine);
        there.what = what;
        g_.tell(&there.begun, number);
      }
    }
    bool good = true;
    for (std::uint32_t i = g_.rank(); good && i < count; i += g_.size()) {
      rank_type const p = peer_at(i).rank;
      good = wait(&from(p).begun, number, p) &&
             (from(p).what.fingerprint() == what.fingerprint() || fail(failure::mismatch, p));
    }
    return g_.all(good);
  }
  /// Counts the operation's messages. @pre all threads have reached its end, and the first one calls this
  template <class PeerAt>
  constexpr void end(std::uint32_t count, PeerAt const& peer_at) const {
    ++counts_.begun;
    for (std::uint32_t i = 0; i != count; ++i) {
      table_peer const p = peer_at(i);
      counts_.sent[p.rank] += p.sent;
      counts_.received[p.rank] += p.received;
    }
  }
  // --- for one thread per peer; messages are numbered within the operation

  constexpr void tell_sent(rank_type peer, std::uint32_t message, bool of_snapshot) const {
    mailbox& there = to(peer);
    std::uint64_t const number = counts_.sent[peer] + message;
    std::uint64_t const bit = std::uint64_t{1} << number % most_messages;
    std::uint64_t& known = counts_.snapshots[peer];
    if (std::uint64_t const now = of_snapshot ? known | bit : known & ~bit; now != known) {
      known = now;
      g_.tell(&there.snapshots, now);
    }
    g_.tell(&there.sent, number);
  }
  constexpr void tell_taken(rank_type peer, std::uint32_t message) const {
    g_.tell(&to(peer).taken, counts_.received[peer] + message);
  }
  [[nodiscard]] constexpr bool wait_sent(rank_type peer, std::uint32_t message) const {
    return wait(&from(peer).sent, counts_.received[peer] + message, peer);
  }
  [[nodiscard]] constexpr bool wait_taken(rank_type peer, std::uint32_t messages) const {
    return wait(&from(peer).taken, counts_.sent[peer] + messages, peer);
  }

  /// True if a peer's message that has arrived is in its snapshot. Called by any thread.
  [[nodiscard]] constexpr bool is_snapshot(rank_type peer, std::uint32_t message) const {
    return (g_.look(&from(peer).snapshots) >> (counts_.received[peer] + message) % most_messages & 1) != 0;
  }

 private:
  /// Translates addresses in this rank's window, which differ in another process.
  [[nodiscard]] constexpr memories as_seen_by(rank_type peer, memories m) const noexcept {
    if (std::uintptr_t const shift = on_.shifts[peer]; shift != 0) {
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

  static constexpr std::uint32_t looks = 64;  ///< reads between two checks for faults and the deadline

  /// The box of messages from a peer to this group.
  [[nodiscard]] constexpr mailbox const& from(rank_type peer) const noexcept {
    return *on_.box(on_.rank, group_, peer);
  }
  [[nodiscard]] constexpr mailbox& to(rank_type peer) const noexcept { return *on_.box(peer, group_, on_.rank); }

  constexpr bool wait(std::uint64_t const* word, std::uint64_t least, rank_type peer) const {
    for (std::uint32_t i = 1; g_.look(word) < least; ++i) {
      if (i % looks == 0) {
        if (has_ended() || g_.look(on_.fault) != 0) {
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
    std::uint64_t const why = g_.look(on_.stops[on_.rank]);
    if (why != 0) {
      g_.tell(on_.fault, why);
    }
    return why != 0;
  }
  /// The rank to blame while waiting for `peer`: one that has not begun, if any, as the peer may wait for it, too.
  [[nodiscard]] constexpr rank_type late(rank_type peer) const {
    for (rank_type i = 0; i != on_.ranks; ++i) {
      rank_type const r = (peer + i) % on_.ranks;
      if (r != on_.rank && g_.look(&from(r).begun) <= counts_.begun) {
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
    std::uint64_t const why = tutti::fault{.kind = kind, .culprit = culprit, .reporter = on_.rank}.pack();
    g_.tell(on_.fault, why);
    for (rank_type r = 0; r != on_.ranks; ++r) {
      g_.tell(on_.stops[r], why);
    }
    return false;
  }

  G const& g_;
  board const& on_;
  std::uint32_t group_;
  block_counts& counts_;
};

}  // namespace tutti::detail::device
