// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/simulation/detail/helped_flow.hpp>
#include <tutti/simulation/detail/messages.hpp>
#include <tutti/simulation/extend/simulated_network.hpp>

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline simulation {

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
    return integer_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> shift_);
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

/// The members of one simulated communicator, what is under way between them, what they have called,
/// and what went wrong.
class simulated_world {
 public:
  /// `processors[r]` is the rank in the whole world of member r.
  explicit simulated_world(std::vector<rank_type> processors)
      : members_(std::move(processors)), left_(members_.size()), lanes_(members_.size() * lane_count) {}

  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(members_.size()); }
  [[nodiscard]] std::vector<rank_type> const& members() const noexcept { return members_; }

  simulated_edges edges;
  std::map<helped_flow_key, helped_flow> helped;
  fault wrong{};       ///< the first fault
  picoseconds told{};  ///< when the others hear of it

  [[nodiscard]] bool left(rank_type r) const noexcept { return left_[r]; }
  void leave(rank_type r) { left_[r] = true; }
  /// The fault because of which a rank has left; none: there is none.
  [[nodiscard]] tutti::fault reason_of(rank_type r) const noexcept {
    return reasons_.empty() || !left_[r] ? tutti::fault{} : reasons_[r];
  }
  void excuse(rank_type r, tutti::fault const& why) {
    reasons_.resize(left_.size());
    reasons_[r] = why;
  }

  void begin(rank_type r, flow s, call const& what) {
    lane& l = lanes_[std::size_t{r} * lane_count + s.lane];
    l.last = (l.last + 1) % lane::kept;
    l.openings[l.last] = {number_of(what), s.number};
  }

  /// What rank r says when it sends on that flow. All transfers share one call, and differ in number.
  [[nodiscard]] simulated_opening current(rank_type r, flow s) const noexcept {
    lane const& l = lanes_[std::size_t{r} * lane_count + s.lane];
    return {l.openings[l.last].call, s.number};
  }

  /// Whether rank r has opened this flow with another call than `mine`, which is then `theirs`.
  [[nodiscard]] bool differs(rank_type r, flow s, simulated_opening mine, simulated_opening& theirs) const noexcept {
    for (simulated_opening const& o : lanes_[std::size_t{r} * lane_count + s.lane].openings) {
      if (o.call != UINT32_MAX && o.number == mine.number && o.call != mine.call) {
        theirs = o;
        return true;
      }
    }
    return false;
  }

  /// What rank r says that it waits for, and when.
  struct saying {
    wait_report what;
    picoseconds time{-1};
  };
  void say(rank_type r, wait_report const& w, picoseconds time) { sayings_[{r, w.on.lane}] = {w, time}; }
  [[nodiscard]] saying said(rank_type r, std::uint32_t on) const {
    auto const at = sayings_.find({r, on});
    return at == sayings_.end() ? saying{} : at->second;
  }

  /// "allreduce(sum float32 x 1000, ring) in flow 7".
  [[nodiscard]] std::string describe(simulated_opening o) const {
    return tutti::describe(calls_[o.call]) + " in flow " + std::to_string(o.number);
  }

 private:
  /// The last calls of a rank on a lane: a peer may be ahead by some.
  struct lane {
    static constexpr std::uint32_t kept = 4;
    simulated_opening openings[kept]{};
    std::uint32_t last = 0;
  };

  /// All ranks call alike, so each call is kept once.
  std::uint32_t number_of(call const& what) {
    auto const [at, is_new] = numbers_.try_emplace(what.fingerprint(), static_cast<std::uint32_t>(calls_.size()));
    if (is_new) {
      calls_.push_back(what);
    }
    return at->second;
  }

  std::vector<rank_type> members_;
  std::vector<bool> left_;
  std::vector<tutti::fault> reasons_;  ///< by rank; empty: none has one
  std::vector<lane> lanes_;
  std::vector<call> calls_;
  std::map<std::pair<rank_type, std::uint32_t>, saying> sayings_;  ///< by rank and lane
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;
};

}  // namespace tutti::detail::simulation
