// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/simulation/edges.hpp>
#include <tutti/error.hpp>
#include <tutti/message.hpp>
#include <tutti/operation.hpp>
#include <tutti/transport/simulated_network.hpp>

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tutti::detail {

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

  /// A stream as its rank opened it: a call, by the number it has here, and its own number.
  struct opening {
    std::uint32_t call = UINT32_MAX;
    std::uint32_t number = 0;
    friend bool operator==(opening, opening) = default;
  };

  void begin(rank_type r, stream s, call const& what) {
    lane& l = lanes_[std::size_t{r} * lane_count + s.lane];
    l.last = (l.last + 1) % lane::kept;
    l.openings[l.last] = {number_of(what), s.number};
  }

  /// What rank r says when it sends on that stream. All transfers share one call, and differ in number.
  [[nodiscard]] opening current(rank_type r, stream s) const noexcept {
    lane const& l = lanes_[std::size_t{r} * lane_count + s.lane];
    return {l.openings[l.last].call, s.number};
  }

  /// Whether rank r has opened this stream with another call than `mine`, which is then `theirs`.
  [[nodiscard]] bool differs(rank_type r, stream s, opening mine, opening& theirs) const noexcept {
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

  /// "allreduce(sum float32 x 1000, ring) in stream 7".
  [[nodiscard]] std::string describe(opening o) const {
    return tutti::describe(calls_[o.call]) + " in stream " + std::to_string(o.number);
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

}  // namespace tutti::detail
