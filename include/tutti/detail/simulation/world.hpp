// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owned.hpp>
#include <tutti/error.hpp>
#include <tutti/message.hpp>
#include <tutti/operation.hpp>
#include <tutti/transport/simulated_network.hpp>

#include <cstring>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
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
  fault wrong{};       ///< the first fault
  picoseconds told{};  ///< when the others hear of it

  [[nodiscard]] bool left(rank_type r) const noexcept { return left_[r]; }
  void leave(rank_type r) { left_[r] = true; }

  /// A flow as its rank opened it: a call, by the number it has here, and its own number.
  struct opening {
    std::uint32_t call = UINT32_MAX;
    std::uint32_t number = 0;
    friend bool operator==(opening, opening) = default;
  };

  void begin(rank_type r, flow s, call const& what) {
    lane& l = lanes_[std::size_t{r} * lane_count + s.lane];
    l.last = (l.last + 1) % lane::kept;
    l.openings[l.last] = {number_of(what), s.number};
  }

  /// What rank r says when it sends on that flow. All transfers share one call, and differ in number.
  [[nodiscard]] opening current(rank_type r, flow s) const noexcept {
    lane const& l = lanes_[std::size_t{r} * lane_count + s.lane];
    return {l.openings[l.last].call, s.number};
  }

  /// Whether rank r has opened this flow with another call than `mine`, which is then `theirs`.
  [[nodiscard]] bool differs(rank_type r, flow s, opening mine, opening& theirs) const noexcept {
    for (opening const& o : lanes_[std::size_t{r} * lane_count + s.lane].openings) {
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
  [[nodiscard]] std::string describe(opening o) const {
    return tutti::describe(calls_[o.call]) + " in flow " + std::to_string(o.number);
  }

 private:
  /// The last calls of a rank on a lane: a peer may be ahead by some.
  struct lane {
    static constexpr std::uint32_t kept = 4;
    opening openings[kept]{};
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
  std::vector<lane> lanes_;
  std::vector<call> calls_;
  std::map<std::pair<rank_type, std::uint32_t>, saying> sayings_;  ///< by rank and lane
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;
};

/// A message between two ranks of a simulation.
struct simulated_message {
  enum class progress : std::uint8_t {
    under_way,
    arrived,
    gone,  ///< its sender died before it left
  };

  std::uint32_t next = 0;  ///< on its edge, or among those that are not in use
  rank_type from = 0;
  rank_type to = 0;
  std::uint32_t on = 0;  ///< the switch that its head has come to
  std::uint32_t attempts = 0;
  progress stage = progress::under_way;
  simulated_world::opening says{};
  picoseconds tail{};  ///< when its last byte comes there
  std::size_t bytes = 0;
  std::size_t capacity = 0;  ///< of the contents
  owned_array<std::byte> contents{};

  void keep(std::span<std::byte const> what) {
    if (capacity < what.size()) {
      contents = owned_array<std::byte>(what.size());
      capacity = what.size();
    }
    if (!what.empty()) {
      std::memcpy(contents.get(), what.data(), what.size());
    }
  }
};

/// All messages that are under way, by number. Those that have been dropped are used again, with their
/// memory.
class simulated_messages {
 public:
  [[nodiscard]] simulated_message& operator[](std::uint32_t id) noexcept { return all_[id]; }
  [[nodiscard]] simulated_message const& operator[](std::uint32_t id) const noexcept { return all_[id]; }

  [[nodiscard]] std::uint32_t make() {
    if (idle_ == none) {
      all_.emplace_back();
      return static_cast<std::uint32_t>(all_.size() - 1);
    }
    simulated_message& m = all_[idle_];
    m.attempts = 0;
    m.stage = simulated_message::progress::under_way;
    return std::exchange(idle_, m.next);
  }

  void drop(std::uint32_t id) noexcept {
    all_[id].next = idle_;
    idle_ = id;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  std::vector<simulated_message> all_;
  std::uint32_t idle_ = none;
};

}  // namespace tutti::detail
