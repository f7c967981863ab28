// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/trace/causality.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The time that each member of a communicator made each other one wait: `wait_time(waiter, culprit)`. Members are the
/// ranks, followed by in-network aggregators.
class blame {
 public:
  /// A time during which a rank waited for a message.
  struct waiting {
    causality::event_place receive;  ///< event that ended the wait
    rank_type peer = no_rank;        ///< sender; behind an aggregator, the rank that contributed last
    operation_number number{};       ///< operation
    time_point begin{};              ///< the rank was ready
    time_point send_begin{};         ///< the peer began to send; until then it was late. Not before `begin`
    time_point end{};                ///< the message had arrived; from `send_begin` on it was in transit
    rank_type aggregator = no_rank;  ///< in-network aggregator that sent the message; no_rank: none
  };

  /// All waits of each rank, in order of time and without overlap. A wait begins after the rank's previous event, once
  /// the operation was started, and never during other work (`enter` to `leave`). Of several expected messages, the
  /// rank waits for the first to arrive.
  [[nodiscard]] static std::vector<std::vector<waiting>> waits_of(causality const& timelines) {
    std::vector<std::vector<waiting>> waits(timelines.size());
    for (rank_type r = 0; r != timelines.size(); ++r) {
      timeline const& t = timelines.timeline_of(r);
      std::map<operation_number, time_point> start_times;  // start of each operation
      time_point free = (time_point::min)();               // time of the previous event
      bool busy = false;
      for (std::size_t i = 0; i != t.size(); ++i) {
        event const e = t[i];
        if (e.kind == event_kind::enter || e.kind == event_kind::leave) {
          busy = e.kind == event_kind::enter;
          free = e.time;
        } else if (e.kind == event_kind::start) {
          start_times[e.number] = e.time;
        } else if (e.kind == event_kind::send || e.kind == event_kind::receive || e.kind == event_kind::fold) {
          auto const start = start_times.find(e.number);
          auto const cause = timelines.cause({r, i});
          if (cause && start != start_times.end() && !busy) {
            time_point const ready = (std::max)(start->second, free);
            if (ready < e.time) {
              waits[r].push_back({{r, i},
                                  cause->rank,
                                  e.number,
                                  ready,
                                  std::clamp(timelines.at(*cause).time, ready, e.time),
                                  e.time,
                                  e.peer >= timelines.size() ? e.peer : no_rank});
            }
          }
          free = (std::max)(free, e.time);
        }
      }
    }
    return waits;
  }

  /// Computes the blame. A rank that waited for a peer's message blames the peer for the time until it sent. The part
  /// during which the peer itself waited is passed on to the rank that the peer waited for, and so on. So a server
  /// that is late because of a worker is not blamed; a server that is late by itself is. An aggregator, which has no
  /// timeline of its own, is blamed from the last contribution until its result arrives, transit included.
  explicit blame(causality const& timelines) : ranks_(timelines.size()), size_(ranks_) {
    auto const waits = waits_of(timelines);
    for (auto const& of_rank : waits) {
      for (waiting const& w : of_rank) {
        size_ = w.aggregator == no_rank ? size_ : (std::max)(size_, std::size_t{w.aggregator} + 1);
      }
    }
    late_.resize(size_ * size_);
    wire_.resize(size_);
    for (rank_type r = 0; r != ranks_; ++r) {
      for (waiting const& w : waits[r]) {
        pass(waits, r, w.peer, w.begin, w.send_begin, ranks_);
        travel(r, w, w.send_begin, w.end);
      }
    }
  }

  /// The number of members: ranks and in-network aggregators.
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(size_); }
  /// The number of ranks.
  [[nodiscard]] rank_type ranks() const noexcept { return static_cast<rank_type>(ranks_); }
  /// The time that one waited while the other did something else. If both are the same: the time that a rank waited
  /// for a peer that waited for it.
  [[nodiscard]] duration wait_time(rank_type waiter, rank_type culprit) const {
    return late_[waiter * size_ + culprit];
  }
  /// The time that a rank waited for messages in transit.
  [[nodiscard]] duration transit_time(rank_type waiter) const { return wire_[waiter]; }

  /// The time that all members waited for this one.
  [[nodiscard]] duration caused_time(rank_type culprit) const {
    duration sum{};
    for (rank_type r = 0; r != size_; ++r) {
      sum += wait_time(r, culprit);
    }
    return sum;
  }

 private:
  /// Adds the time that a rank waited for a message in transit.
  void travel(rank_type waiter, waiting const& w, time_point begin, time_point end) {
    (w.aggregator == no_rank ? wire_[waiter] : late_[waiter * size_ + w.aggregator]) += end - begin;
  }
  /// Blames a rank for a span of time, except where the rank itself waited.
  /// @param depth limit for passing blame on; a longer chain than the number of ranks means a wrong clock
  void pass(std::vector<std::vector<waiting>> const& waits, rank_type waiter, rank_type culprit, time_point span_begin,
            time_point span_end, std::size_t depth) {
    if (span_begin >= span_end) {
      return;
    }
    auto const& culprit_waits = waits[culprit];
    auto w = std::ranges::lower_bound(culprit_waits, span_begin, {}, &waiting::end);
    for (; depth != 0 && w != culprit_waits.end() && span_begin < span_end; ++w) {
      time_point const begin = (std::max)(w->begin, span_begin);
      time_point const send_time = std::clamp(w->send_begin, begin, (std::max)(begin, span_end));
      time_point const end = std::clamp(w->end, send_time, (std::max)(send_time, span_end));
      if (begin >= span_end) {
        break;
      }
      late_[waiter * size_ + culprit] += begin - span_begin;
      if (w->peer != waiter) {
        pass(waits, waiter, w->peer, begin, send_time, depth - 1);
      } else {
        late_[waiter * size_ + waiter] += send_time - begin;
      }
      travel(waiter, *w, send_time, end);
      span_begin = end;
    }
    if (span_begin < span_end) {
      late_[waiter * size_ + culprit] += span_end - span_begin;
    }
  }

  std::size_t ranks_;
  std::size_t size_;  ///< ranks and in-network aggregators
  std::vector<duration> late_;
  std::vector<duration> wire_;
};

}  // namespace tutti
