// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/device/board.hpp>
#include <tutti/detail/device/step_table.hpp>
#include <tutti/detail/device/thread_group.hpp>

#include <cstdint>

namespace tutti::detail::device {

/// What one group of threads says to the groups of the same number at its peers, and hears from them. The first thread
/// does it for all: a barrier of the group is before what it says and after what it hears.
template <thread_group G>
class block_link {
 public:
  constexpr block_link(G const& g, board const& on, std::uint32_t group)
      : g_(g), on_(on), group_(group), counts_(on.counts[group]) {}

  [[nodiscard]] constexpr G const& threads() const noexcept { return g_; }
  [[nodiscard]] constexpr board const& on() const noexcept { return on_; }
  [[nodiscard]] constexpr bool is_first() const noexcept { return g_.rank() == 0; }
  [[nodiscard]] constexpr memories const& where(rank_type peer) const noexcept { return from(peer).where; }
  [[nodiscard]] constexpr std::byte* snapshot() const noexcept { return on_.snapshot + group_ * on_.snapshot_bytes; }
  [[nodiscard]] constexpr std::byte const* snapshot_of(rank_type peer) const noexcept {
    return on_.snapshots[peer] + group_ * on_.snapshot_bytes;
  }

  /// Tells all peers where this rank's memories are, and learns theirs. False: another one has called something else,
  /// or the operation has failed.
  constexpr bool begin(table_peer const* peers, std::uint32_t count, memories const& mine, std::uint64_t call) const {
    std::uint64_t const number = counts_.begun + 1;
    bool good = true;
    if (is_first()) {
      for (std::uint32_t i = 0; i != count; ++i) {
        mailbox& there = to(peers[i].rank);
        there.where = mine;
        there.call = call;
        g_.tell(&there.begun, number);
      }
      for (std::uint32_t i = 0; good && i != count; ++i) {
        rank_type const p = peers[i].rank;
        good = wait(&from(p).begun, number, p) && (from(p).call == call || fail({failure_kind::differs, p}));
      }
    }
    return g_.all(good);
  }
  /// The operation's messages are counted. @pre all threads have got to its end, and the first one calls this
  constexpr void end(table_peer const* peers, std::uint32_t count) const {
    ++counts_.begun;
    for (std::uint32_t i = 0; i != count; ++i) {
      counts_.sent[peers[i].rank] += peers[i].sent;
      counts_.received[peers[i].rank] += peers[i].received;
    }
  }

  // --- for the first thread; messages are numbered within the operation

  constexpr void tell_sent(rank_type peer, std::uint32_t message, bool of_snapshot) const {
    mailbox& there = to(peer);
    std::uint64_t const number = counts_.sent[peer] + message;
    std::uint64_t const bit = std::uint64_t{1} << number % most_messages;
    std::uint64_t const known = g_.look(&there.snapshots);
    g_.tell(&there.snapshots, of_snapshot ? known | bit : known & ~bit);
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
  static constexpr std::uint32_t looks = 64;  ///< between two at what ends all waiting

  /// What this group hears from a peer, and where it is heard there.
  [[nodiscard]] constexpr mailbox const& from(rank_type peer) const noexcept {
    return *on_.box(on_.rank, group_, peer);
  }
  [[nodiscard]] constexpr mailbox& to(rank_type peer) const noexcept { return *on_.box(peer, group_, on_.rank); }

  constexpr bool wait(std::uint64_t const* word, std::uint64_t least, rank_type peer) const {
    for (std::uint32_t i = 1; g_.look(word) < least; ++i) {
      if (i % looks == 0) {
        if (g_.look(on_.fault) != 0) {
          return false;
        }
        if (g_.is_late()) {
          return fail({failure_kind::late, peer});
        }
      }
      g_.pause();
    }
    return true;
  }
  constexpr bool fail(failure_report const& what) const {
    g_.tell(on_.fault, what.word());
    return false;
  }

  G const& g_;
  board const& on_;
  std::uint32_t group_;
  block_counts& counts_;
};

}  // namespace tutti::detail::device
