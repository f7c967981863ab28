// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/topology.hpp>

#include <utility>

namespace tutti::inline v0_1_0::detail::inline engine {

/// A message that a peer reads, or may read, from this rank's memory.
struct reader {
  tutti::ticket ticket;  ///< the transport tells by this ticket if the peer has released the message
  rank_type peer;
  tutti::memory memory;
  block_range blocks;  ///< blocks in the message
  bool of_snapshot;    ///< the peer reads the snapshot instead
};

/// The messages of a segment that have not been released yet: a small set of fixed capacity.
class readers {
 public:
  void clear() noexcept { count_ = 0; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] bool full() const noexcept { return count_ == capacity; }
  [[nodiscard]] rank_type first() const noexcept { return empty() ? no_rank : entries_[0].peer; }

  /// @pre !full()
  void add(reader r) noexcept { entries_[count_++] = r; }

  /// Removes released messages; returns true if there is room.
  template <class Transport>
  bool reap(Transport& t, flow s) {
    std::uint32_t remaining_count = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (!t.is_released(entries_[i].peer, s, entries_[i].ticket)) {
        entries_[remaining_count++] = entries_[i];
      }
    }
    count_ = remaining_count;
    return !full();
  }

  template <class Transport>
  bool all_released(Transport& t, flow s) {
    if (!empty()) {
      reap(t, s);
    }
    return empty();
  }

  /// True if no unreleased message satisfies `concerns`. Moves one that does to the front, where `first` names its
  /// peer.
  template <class Transport, class Concerns>
  bool none_needs(Transport& t, flow s, Concerns concerns) {
    bool is_free = true;
    std::uint32_t remaining_count = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (concerns(entries_[i]) && t.is_released(entries_[i].peer, s, entries_[i].ticket)) {
        continue;
      }
      entries_[remaining_count] = entries_[i];
      if (concerns(entries_[remaining_count])) {
        is_free = false;
        std::swap(entries_[0], entries_[remaining_count]);
      }
      ++remaining_count;
    }
    count_ = remaining_count;
    return is_free;
  }

 private:
  static constexpr std::uint32_t capacity = 16;

  std::uint32_t count_ = 0;
  reader entries_[capacity];
};

}  // namespace tutti::detail::engine
