// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/board.hpp>
#include <tutti/cuda/detail/device/step_table.hpp>
#include <tutti/cuda/detail/device/thread_group.hpp>
#include <tutti/extend/error.hpp>

#include <cstdint>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::device {

/// What one group of threads says to the groups of the same number on other ranks, and hears from them. A barrier of
/// the group is before what it says and after what it hears.
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

  /// From now on it may reach into memory of other ranks. False: the world has failed. For all threads.
  constexpr bool enter() const {
    if (is_first()) {
      g_.announce(&counts_.busy, 1);
    }
    return g_.all(!is_first() || !has_ended());
  }
  /// It does not any more. For all threads.
  constexpr void leave() const {
    if (g_.all(true); is_first()) {
      g_.tell(&counts_.busy, 0);
      if (group_ == 0) {
        g_.tell(on_.progress, counts_.begun);
      }
    }
  }

  /// Tells all ranks what this one has begun, and where its memories are, and waits for the peers. False: another one
  /// has called something else, or the world has failed. For all threads. `peer_at(i)` is one of `count` peers.
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
  /// The operation's messages are counted. @pre all threads have got to its end, and the first one calls this
  template <class PeerAt>
  constexpr void end(std::uint32_t count, PeerAt const& peer_at) const {
    ++counts_.begun;
    for (std::uint32_t i = 0; i != count; ++i) {
      table_peer const p = peer_at(i);
      counts_.sent[p.rank] += p.sent;
      counts_.received[p.rank] += p.received;
    }
  }
  // --- for one thread a peer; messages are numbered within the operation

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

  /// Whether a message of a peer that has come lies in its snapshot. For any thread.
  [[nodiscard]] constexpr bool is_snapshot(rank_type peer, std::uint32_t message) const {
    return (g_.look(&from(peer).snapshots) >> (counts_.received[peer] + message) % most_messages & 1) != 0;
  }

 private:
  /// A rank has other addresses for this one's window, if it is in another process.
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

  static constexpr std::uint32_t looks = 64;  ///< between two at what ends all waiting

  /// What this group hears from a rank, and where it is heard there.
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
  /// Whether a rank has ended what this one does; then this one's host is told.
  [[nodiscard]] constexpr bool has_ended() const {
    std::uint64_t const why = g_.look(on_.stops[on_.rank]);
    if (why != 0) {
      g_.tell(on_.fault, why);
    }
    return why != 0;
  }
  /// The rank that is late where one waits for `peer`: one that has not begun, if there is one, for the peer may wait
  /// for it, too.
  [[nodiscard]] constexpr rank_type late(rank_type peer) const {
    for (rank_type i = 0; i != on_.ranks; ++i) {
      rank_type const r = (peer + i) % on_.ranks;
      if (r != on_.rank && g_.look(&from(r).begun) <= counts_.begun) {
        return r;
      }
    }
    return peer;
  }
  /// Ends what all ranks do, now and later. Of failures at one time any may be the one that is known.
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
