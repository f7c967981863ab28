// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/trace/timeline.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The timelines of all ranks, with the causes of their events.
///
/// Messages carry nothing for the trace. Schedules guarantee that the k-th message of a flow from one rank to another
/// is the k-th received there, so sends and receives are matched afterwards. Vector clocks follow from the matches
/// (Fidge 1988; Mattern, "Virtual time and global states of distributed systems", 1989): entry p of an event's clock
/// is the number of events of rank p that it depends on, itself included. They need no synchronised time.
///
/// A message from an in-network aggregator is caused by the contributions of all ranks to it.
///
/// Events that a tracer has dropped have no match: collective operations are matched from the first one that every
/// rank has recorded from its start, transfers one by one.
///
/// Cost: n numbers per event for n ranks, and one look-up per received message.
/// Thread safety: as a value; const calls from any thread.
class causality {
 public:
  /// The place of an event: a rank, and an index in its timeline.
  struct event_place {
    rank_type rank = no_rank;  ///< rank that recorded it
    std::size_t index = 0;     ///< index in that rank's timeline

    friend constexpr auto operator<=>(event_place, event_place) = default;
  };

  /// Matches sends and receives, and computes the clocks.
  /// @param ranks timelines of one communicator, in rank order
  explicit causality(std::vector<timeline> ranks) : ranks_(std::move(ranks)) {
    causes_.resize(ranks_.size());
    clocks_.resize(ranks_.size());
    for (std::size_t r = 0; r != ranks_.size(); ++r) {
      causes_[r].resize(ranks_[r].size());
      clocks_[r].assign(ranks_[r].size() * ranks_.size(), 0);
    }
    match();
    tick();
  }

  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(ranks_.size()); }
  /// The timeline of rank r.
  [[nodiscard]] timeline const& timeline_of(rank_type r) const { return ranks_[r]; }
  /// The event at a place.
  [[nodiscard]] event at(event_place e) const { return ranks_[e.rank][e.index]; }

  /// The send that a receive is matched with, if there is one. For a result of an in-network aggregator, the last of
  /// the contributions.
  [[nodiscard]] std::optional<event_place> cause(event_place e) const {
    auto const sends = causes(e);
    auto const last = std::ranges::max_element(sends, {}, [this](event_place c) { return at(c).time; });
    return last == sends.end() ? std::nullopt : std::optional(*last);
  }

  /// All sends that this event depends on directly: none, one, or all contributions to an aggregator's result.
  [[nodiscard]] std::span<event_place const> causes(event_place e) const {
    group const g = causes_[e.rank][e.index];
    return std::span(sends_).subspan(g.first, g.count);
  }

  /// The number of events of each rank that happened before this one, itself included.
  [[nodiscard]] std::span<std::uint32_t const> clock(event_place e) const {
    return std::span(clocks_[e.rank]).subspan(e.index * ranks_.size(), ranks_.size());
  }

  /// True if a may have influenced b. If neither may have influenced the other, they are concurrent.
  [[nodiscard]] bool happens_before(event_place a, event_place b) const { return a != b && clock(b)[a.rank] > a.index; }

 private:
  /// The messages of a flow from one rank to another; for a transfer, a single message.
  struct edge {
    bool transfer;
    std::uint64_t number;
    rank_type sender;
    rank_type receiver;

    friend constexpr auto operator<=>(edge const&, edge const&) = default;
  };
  /// A part of `sends_`.
  struct group {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  /// The step of an operation in which a message is received, perhaps in several chunks.
  using receive_step = std::pair<operation_number, std::uint32_t>;

  void match() {
    std::uint32_t const first_flow = first_complete_flow();
    // All contributions to an aggregator are on one edge, from any rank.
    std::map<edge, std::vector<event_place>> send_places;
    for (rank_type r = 0; r != size(); ++r) {
      for_each_message(r, first_flow, event_kind::send, [&](std::size_t i, edge const& key, event const&) {
        send_places[is_aggregator(key.receiver) ? edge{false, key.number, no_rank, key.receiver} : key].push_back(
            {r, i});
      });
    }
    std::map<edge, std::size_t> begins;
    for (auto const& [key, places] : send_places) {
      begins[key] = sends_.size();
      sends_.insert(sends_.end(), places.begin(), places.end());
    }
    for (rank_type r = 0; r != size(); ++r) {
      std::map<edge, std::pair<std::size_t, receive_step>>
          last_receives;  // number of messages before the last one, and the last
      for_each_message(r, first_flow, event_kind::receive, [&](std::size_t i, edge const& key, event const& e) {
        if (is_aggregator(key.sender)) {
          edge const contributions{false, key.number, no_rank, key.sender};
          if (auto const match = send_places.find(contributions); match != send_places.end()) {
            causes_[r][i] = {begins[contributions], match->second.size()};
          }
          return;
        }
        receive_step const now{e.number, e.step};
        auto& [count, last] = last_receives.try_emplace(key, 0, now).first->second;
        if (last != now) {
          ++count;
          last = now;
        }
        if (auto const match = send_places.find(key); match != send_places.end() && count < match->second.size()) {
          causes_[r][i] = {begins[key] + count, 1};
        }
      });
    }
  }

  [[nodiscard]] bool is_aggregator(rank_type member) const noexcept { return member >= size(); }

  /// The first flow of collective operations that every timeline contains from its start.
  [[nodiscard]] std::uint32_t first_complete_flow() const {
    std::uint32_t first = 0;
    for (timeline const& t : ranks_) {
      for (std::size_t i = 0; i != t.size(); ++i) {
        if (event const e = t[i]; e.kind == event_kind::start && !e.number.is_message()) {
          first = (std::max)(first, e.flow.number);
          break;
        }
      }
    }
    return first;
  }

  /// Calls f(index, edge, event) for every event of that kind: of transfers, and of collective operations from flow
  /// `first_flow` on.
  template <class F>
  void for_each_message(rank_type r, std::uint32_t first_flow, event_kind kind, F f) const {
    timeline const& t = ranks_[r];
    for (std::size_t i = 0; i != t.size(); ++i) {
      event const e = t[i];
      bool const transfer = e.number.is_message();
      if (e.kind != kind || e.peer == no_rank) {
        continue;
      }
      edge const key{transfer, transfer ? e.number.sequence : e.flow.number, kind == event_kind::send ? r : e.peer,
                     kind == event_kind::send ? e.peer : r};
      if (transfer || key.number >= first_flow) {
        f(i, key, e);
      }
    }
  }

  /// Computes all clocks: the maximum of the previous clock on the rank and the clocks of the causes, with the rank's
  /// own entry increased by one.
  void tick() {
    std::vector<std::size_t> next(ranks_.size());
    for (bool has_progressed = true; has_progressed;) {
      has_progressed = false;
      for (rank_type r = 0; r != size(); ++r) {
        for (; next[r] != ranks_[r].size(); ++next[r], has_progressed = true) {
          auto const sends = causes({r, next[r]});
          if (std::ranges::any_of(sends, [&](event_place c) { return c.index >= next[c.rank]; })) {
            break;  // the clock of a cause is not known yet
          }
          tick({r, next[r]}, sends);
        }
      }
    }
    for (rank_type r = 0; r != size(); ++r) {
      expects(next[r] == ranks_[r].size(), "causality: event ", next[r], " of rank ", r,
              " waits for a later event; give the timelines of all ranks of one communicator");
    }
  }
  void tick(event_place e, std::span<event_place const> sends) {
    auto const result = std::span(clocks_[e.rank]).subspan(e.index * ranks_.size(), ranks_.size());
    if (e.index != 0) {
      std::ranges::copy(clock({e.rank, e.index - 1}), result.begin());
    }
    for (event_place const c : sends) {
      std::ranges::transform(result, clock(c), result.begin(), [](auto a, auto b) { return (std::max)(a, b); });
    }
    ++result[e.rank];
  }

  std::vector<timeline> ranks_;
  std::vector<event_place> sends_{};  ///< the sends of one edge are adjacent
  std::vector<std::vector<group>> causes_;
  std::vector<std::vector<std::uint32_t>> clocks_;
};

}  // namespace tutti
