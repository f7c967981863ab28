// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/simulation/detail/aggregated_flow.hpp>
#include <tutti/simulation/detail/messages.hpp>
#include <tutti/simulation/extend/simulated_network.hpp>

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline simulation {

/// Messages under way between the members of a simulated world: a queue, in sending order, for each pair of ranks and
/// lane that has any. Few pairs have one, so the queues are in a hash table. It uses open addressing and closes gaps
/// on removal, so it never needs a clean-up.
class simulated_edges {
 public:
  static constexpr std::uint32_t no_message = UINT32_MAX;

  struct edge {
    std::uint64_t key;  ///< `vacant`: the entry holds no queue
    std::uint32_t first = no_message;
    std::uint32_t last = no_message;
    std::uint32_t length = 0;
    bool refused = false;  ///< the sender has found the queue full
  };

  /// Returns null if nothing is under way. Valid until the next `at` or `erase`.
  [[nodiscard]] edge* find(rank_type sender, rank_type receiver, std::uint32_t lane) noexcept {
    std::uint64_t const key = key_of(sender, receiver, lane);
    for (std::size_t i = home_slot(key);; i = next(i)) {
      if (edges_[i].key == key) {
        return &edges_[i];
      }
      if (edges_[i].key == vacant) {
        return nullptr;
      }
    }
  }

  /// Finds a queue, or makes an empty one.
  [[nodiscard]] edge& at(rank_type sender, rank_type receiver, std::uint32_t lane) {
    if (edge* const existing = find(sender, receiver, lane)) {
      return *existing;
    }
    if (edge_count_ * 2 >= edges_.size()) {
      grow();
    }
    ++edge_count_;
    return insert({key_of(sender, receiver, lane)});
  }

  void erase(edge& e) noexcept {
    --edge_count_;
    auto gap = static_cast<std::size_t>(&e - edges_.data());
    for (std::size_t i = next(gap); edges_[i].key != vacant; i = next(i)) {
      std::size_t const from_home = (i - home_slot(edges_[i].key)) & (edges_.size() - 1);
      if (from_home >= ((i - gap) & (edges_.size() - 1))) {  // the entry stays findable in the gap
        edges_[gap] = edges_[i];
        gap = i;
      }
    }
    edges_[gap].key = vacant;
  }

 private:
  static constexpr std::uint64_t vacant = UINT64_MAX;

  /// Packs the key; ranks are below 2^24.
  [[nodiscard]] static std::uint64_t key_of(rank_type sender, rank_type receiver, std::uint32_t lane) noexcept {
    return std::uint64_t{receiver} << 32 | std::uint64_t{sender} << 4 | lane;
  }
  [[nodiscard]] std::size_t home_slot(std::uint64_t key) const noexcept {
    return integer_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> shift_);
  }
  [[nodiscard]] std::size_t next(std::size_t i) const noexcept { return (i + 1) & (edges_.size() - 1); }

  edge& insert(edge const& e) noexcept {
    std::size_t i = home_slot(e.key);
    while (edges_[i].key != vacant) {
      i = next(i);
    }
    return edges_[i] = e;
  }

  void grow() {
    std::vector<edge> previous(edges_.size() * 2, {vacant});
    previous.swap(edges_);
    --shift_;
    for (edge const& e : previous) {
      if (e.key != vacant) {
        insert(e);
      }
    }
  }

  std::vector<edge> edges_ = std::vector<edge>(64, {vacant});
  std::size_t edge_count_ = 0;
  unsigned shift_ = 64 - 6;
};

/// The members of one simulated communicator, the messages under way between them, their calls, and their first
/// fault.
class simulated_world {
 public:
  /// `processors[r]` is the rank in the whole world of member r.
  explicit simulated_world(std::vector<rank_type> processors)
      : members_(std::move(processors)), departures_(members_.size()), lanes_(members_.size() * lane_count) {}

  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(members_.size()); }
  [[nodiscard]] std::vector<rank_type> const& members() const noexcept { return members_; }

  simulated_edges edges;
  std::map<helped_flow_key, aggregated_flow> helped_flows;
  fault first_fault{};
  picoseconds fault_time{};  ///< time at which the other members learn of the first fault

  [[nodiscard]] bool has_left(rank_type r) const noexcept { return departures_[r]; }
  void leave(rank_type r) { departures_[r] = true; }
  /// The fault that made a rank leave, or none.
  [[nodiscard]] tutti::fault reason_of(rank_type r) const noexcept {
    return reasons_.empty() || !departures_[r] ? tutti::fault{} : reasons_[r];
  }
  void announce_departure(rank_type r, tutti::fault const& reason) {
    reasons_.resize(departures_.size());
    reasons_[r] = reason;
  }

  void begin(rank_type r, flow s, call const& call_info) {
    lane& l = lanes_[std::size_t{r} * lane_count + s.lane];
    l.last = (l.last + 1) % lane::history;
    l.openings[l.last] = {number_of(call_info), s.number};
  }

  /// The opening that rank r's messages carry on that flow. All transfers share one call, and differ in number.
  [[nodiscard]] simulated_opening current_opening(rank_type r, flow s) const noexcept {
    lane const& l = lanes_[std::size_t{r} * lane_count + s.lane];
    return {l.openings[l.last].call, s.number};
  }

  /// True if rank r has opened this flow with another call than `own`; `peer_opening` is then that call.
  [[nodiscard]] bool has_opened_otherwise(rank_type r, flow s, simulated_opening expected,
                                          simulated_opening& peer_opening) const noexcept {
    for (simulated_opening const& opening : lanes_[std::size_t{r} * lane_count + s.lane].openings) {
      if (opening.call != UINT32_MAX && opening.number == expected.number && opening.call != expected.call) {
        peer_opening = opening;
        return true;
      }
    }
    return false;
  }

  /// A rank's last report of its wait, and the report's time.
  struct wait_record {
    wait_report report;
    picoseconds time{-1};
  };
  void record_wait(rank_type r, wait_report const& w, picoseconds time) { wait_records_[{r, w.flow.lane}] = {w, time}; }
  [[nodiscard]] wait_record last_wait(rank_type r, std::uint32_t lane_number) const {
    auto const at = wait_records_.find({r, lane_number});
    return at == wait_records_.end() ? wait_record{} : at->second;
  }

  /// Text of an opening: "allreduce(sum float32 x 1000, ring) in flow 7".
  [[nodiscard]] std::string describe(simulated_opening opening) const {
    return tutti::describe(calls_[opening.call]) + " in flow " + std::to_string(opening.number);
  }

 private:
  /// The last calls of a rank on a lane; a peer may be ahead by some.
  struct lane {
    static constexpr std::uint32_t history = 4;
    simulated_opening openings[history]{};
    std::uint32_t last = 0;
  };

  /// Returns the number of a call. Ranks make equal calls, so each call is stored once.
  std::uint32_t number_of(call const& call_info) {
    auto const [at, is_new] = numbers_.try_emplace(call_info.fingerprint(), static_cast<std::uint32_t>(calls_.size()));
    if (is_new) {
      calls_.push_back(call_info);
    }
    return at->second;
  }

  std::vector<rank_type> members_;
  std::vector<bool> departures_;
  std::vector<tutti::fault> reasons_;  ///< by rank; empty: no rank has given a reason
  std::vector<lane> lanes_;
  std::vector<call> calls_;
  std::map<std::pair<rank_type, std::uint32_t>, wait_record> wait_records_;  ///< by rank and lane
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;
};

}  // namespace tutti::detail::simulation
