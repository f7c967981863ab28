// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/trace/causality.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The members that are answerable for time that ranks waited, in a square of them: `of(waiter, culprit)`. Members are
/// the ranks, and the helpers that something came from, which follow them.
class blame {
 public:
  /// A time that a rank could not go on before a message came.
  struct waiting {
    causality::event_place receive;  ///< the event that ended it
    rank_type peer = no_rank;        ///< whose message it was; of what a helper has made, whose contribution came last
    operation_number number{};       ///< the operation
    time_point begin{};              ///< the rank was ready
    time_point sent{};               ///< the peer began to send; never before `begin`: until then the peer was late
    time_point end{};                ///< the message was there: from `sent` on it was under way
    rank_type through = no_rank;     ///< the helper that has made it, if one has
  };

  /// All waits, rank by rank in order of time; those of a rank do not overlap. A rank waits from the last thing on that
  /// it did before, whatever that was, once the operation was started, and not while it does something else (`enter` to
  /// `leave`). If it waits for several messages at once, it is the next one to come that it waits for.
  [[nodiscard]] static std::vector<std::vector<waiting>> waits_of(causality const& all) {
    std::vector<std::vector<waiting>> waits(all.size());
    for (rank_type r = 0; r != all.size(); ++r) {
      timeline const& t = all.of(r);
      std::map<operation_number, time_point> started;  // by operation
      time_point free = (time_point::min)();           // of what it did before
      bool busy = false;
      for (std::size_t i = 0; i != t.size(); ++i) {
        event const e = t[i];
        if (e.kind == event_kind::enter || e.kind == event_kind::leave) {
          busy = e.kind == event_kind::enter;
          free = e.time;
        } else if (e.kind == event_kind::start) {
          started[e.number] = e.time;
        } else if (e.kind == event_kind::send || e.kind == event_kind::receive || e.kind == event_kind::fold) {
          auto const start = started.find(e.number);
          auto const why = all.cause({r, i});
          if (why && start != started.end() && !busy) {
            time_point const ready = (std::max)(start->second, free);
            if (ready < e.time) {
              waits[r].push_back({{r, i},
                                  why->rank,
                                  e.number,
                                  ready,
                                  std::clamp(all.at(*why).time, ready, e.time),
                                  e.time,
                                  e.peer >= all.size() ? e.peer : no_rank});
            }
          }
          free = (std::max)(free, e.time);
        }
      }
    }
    return waits;
  }

  /// A rank that waited for a peer's message blames the peer for the time until it sent, but for what of it the
  /// peer waited itself: that is passed on to the rank that the peer waited for, and so on. So a server that is late
  /// because a worker is, is not blamed, and a server that is late by itself is. A helper is answerable from the last
  /// contribution on until its result is there, the ways included: it keeps no timeline of its own.
  explicit blame(causality const& all) : ranks_(all.size()), size_(ranks_) {
    auto const waits = waits_of(all);
    for (auto const& of_rank : waits) {
      for (waiting const& w : of_rank) {
        size_ = w.through == no_rank ? size_ : (std::max)(size_, std::size_t{w.through} + 1);
      }
    }
    late_.resize(size_ * size_);
    wire_.resize(size_);
    for (rank_type r = 0; r != ranks_; ++r) {
      for (waiting const& w : waits[r]) {
        pass(waits, r, w.peer, w.begin, w.sent, ranks_);
        travel(r, w, w.sent, w.end);
      }
    }
  }

  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(size_); }
  /// How many of them are ranks.
  [[nodiscard]] rank_type ranks() const noexcept { return static_cast<rank_type>(ranks_); }
  /// How long one waited while the other did something else. If both are one: while it was waited for.
  [[nodiscard]] duration of(rank_type waiter, rank_type culprit) const { return late_[waiter * size_ + culprit]; }
  /// How long a rank waited for messages that were under way.
  [[nodiscard]] duration under_way(rank_type waiter) const { return wire_[waiter]; }

  /// How long all the others waited for that one.
  [[nodiscard]] duration by(rank_type culprit) const {
    duration sum{};
    for (rank_type r = 0; r != size_; ++r) {
      sum += of(r, culprit);
    }
    return sum;
  }

 private:
  /// Something was under way that a rank waited for.
  void travel(rank_type waiter, waiting const& w, time_point from, time_point to) {
    (w.through == no_rank ? wire_[waiter] : late_[waiter * size_ + w.through]) += to - from;
  }
  /// @param depth how many more times it may be passed on; more than there are ranks is a clock that is wrong
  void pass(std::vector<std::vector<waiting>> const& waits, rank_type waiter, rank_type culprit, time_point from,
            time_point to, std::size_t depth) {
    if (from >= to) {
      return;
    }
    auto const& theirs = waits[culprit];
    auto w = std::ranges::lower_bound(theirs, from, {}, &waiting::end);
    for (; depth != 0 && w != theirs.end() && from < to; ++w) {
      time_point const begin = (std::max)(w->begin, from);
      time_point const sent = std::clamp(w->sent, begin, (std::max)(begin, to));
      time_point const end = std::clamp(w->end, sent, (std::max)(sent, to));
      if (begin >= to) {
        break;
      }
      late_[waiter * size_ + culprit] += begin - from;
      if (w->peer != waiter) {
        pass(waits, waiter, w->peer, begin, sent, depth - 1);
      } else {
        late_[waiter * size_ + waiter] += sent - begin;
      }
      travel(waiter, *w, sent, end);
      from = end;
    }
    if (from < to) {
      late_[waiter * size_ + culprit] += to - from;
    }
  }

  std::size_t ranks_;
  std::size_t size_;  ///< with helpers
  std::vector<duration> late_;
  std::vector<duration> wire_;
};

}  // namespace tutti
