// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/message.hpp>

#include <vector>

namespace tutti::detail {

/// The messages that are under way between the members of a simulated world: a queue for each pair of
/// ranks and lane that has any, in the order sent. A hash table, because of all pairs few have: open
/// addressing, and no gaps are left behind, so that it never needs to be cleaned up.
class simulated_edges {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  struct edge {
    std::uint64_t key;  ///< vacant: no such queue
    std::uint32_t first = none;
    std::uint32_t last = none;
    std::uint32_t length = 0;
    bool refused = false;  ///< the sender has found it full
  };

  /// Null: nothing is under way. Valid until the next `at` or `erase`.
  [[nodiscard]] edge* find(rank_type from, rank_type to, std::uint32_t lane) noexcept {
    std::uint64_t const key = key_of(from, to, lane);
    for (std::size_t i = home(key);; i = next(i)) {
      if (edges_[i].key == key) {
        return &edges_[i];
      }
      if (edges_[i].key == vacant) {
        return nullptr;
      }
    }
  }

  /// The same, but makes an empty queue where there is none.
  [[nodiscard]] edge& at(rank_type from, rank_type to, std::uint32_t lane) {
    if (edge* const there = find(from, to, lane)) {
      return *there;
    }
    if (used_ * 2 >= edges_.size()) {
      grow();
    }
    ++used_;
    return insert({key_of(from, to, lane)});
  }

  void erase(edge& e) noexcept {
    --used_;
    auto gap = static_cast<std::size_t>(&e - edges_.data());
    for (std::size_t i = next(gap); edges_[i].key != vacant; i = next(i)) {
      std::size_t const from_home = (i - home(edges_[i].key)) & (edges_.size() - 1);
      if (from_home >= ((i - gap) & (edges_.size() - 1))) {  // it may as well stand in the gap
        edges_[gap] = edges_[i];
        gap = i;
      }
    }
    edges_[gap].key = vacant;
  }

 private:
  static constexpr std::uint64_t vacant = UINT64_MAX;

  /// Ranks are below 2^24.
  [[nodiscard]] static std::uint64_t key_of(rank_type from, rank_type to, std::uint32_t lane) noexcept {
    return std::uint64_t{to} << 32 | std::uint64_t{from} << 4 | lane;
  }
  [[nodiscard]] std::size_t home(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> shift_);
  }
  [[nodiscard]] std::size_t next(std::size_t i) const noexcept { return (i + 1) & (edges_.size() - 1); }

  edge& insert(edge const& e) noexcept {
    std::size_t i = home(e.key);
    while (edges_[i].key != vacant) {
      i = next(i);
    }
    return edges_[i] = e;
  }

  void grow() {
    std::vector<edge> old(edges_.size() * 2, {vacant});
    old.swap(edges_);
    --shift_;
    for (edge const& e : old) {
      if (e.key != vacant) {
        insert(e);
      }
    }
  }

  std::vector<edge> edges_ = std::vector<edge>(64, {vacant});
  std::size_t used_ = 0;
  unsigned shift_ = 64 - 6;
};

}  // namespace tutti::detail
