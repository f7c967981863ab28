// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/simulation/extend/simulated_network.hpp>

#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline simulation {

/// What will happen at some time, to a message or a rank.
struct simulated_event {
  enum class kind : std::uint8_t { inject, cross, enter, arrive, wake, timer, pause, death };

  picoseconds time;
  std::uint64_t order;  ///< its number, then its kind in the last four bits
  std::uint32_t what;

  [[nodiscard]] kind what_happens() const noexcept { return static_cast<kind>(order & 15U); }
  [[nodiscard]] bool before(simulated_event const& other) const noexcept {
    return time != other.time ? time < other.time : order < other.order;
  }
};

/// The clock of a simulation, and what is to come, the earliest first; of what comes at one time, what was foreseen
/// first. That makes every simulation repeatable. A heap with four children a node: half the cache misses of two.
class simulated_events {
 public:
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] picoseconds now() const noexcept { return now_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return number_; }  ///< how many were ever foreseen

  void push(picoseconds time, simulated_event::kind kind, std::uint32_t what) {
    simulated_event const e{time, number_++ << 4 | static_cast<std::uint64_t>(kind), what};
    std::size_t at = heap_.size();
    heap_.push_back(e);
    for (; at != 0 && e.before(heap_[(at - 1) / 4]); at = (at - 1) / 4) {
      heap_[at] = heap_[(at - 1) / 4];
    }
    heap_[at] = e;
  }

  /// The next event; it is as late as that then. @pre !empty()
  simulated_event pop() {
    simulated_event const first = heap_.front();
    now_ = first.time;
    simulated_event const last = heap_.back();
    heap_.pop_back();
    std::size_t const size = heap_.size();
    if (size == 0) {
      return first;
    }
    std::size_t at = 0;
    for (std::size_t child = 1; child < size; child = 4 * at + 1) {
      std::size_t const end = child + 4 < size ? child + 4 : size;
      std::size_t least = child;
      for (std::size_t other = child + 1; other < end; ++other) {
        least = heap_[other].before(heap_[least]) ? other : least;
      }
      if (!heap_[least].before(last)) {
        break;
      }
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = last;
    return first;
  }

 private:
  picoseconds now_{};
  std::vector<simulated_event> heap_;
  std::uint64_t number_ = 0;
};

/// The processors of a simulation, one a rank: until when each is busy, and whether its rank rests or
/// is to be woken.
///
/// A rank's own time runs ahead of the simulation's while its processor is busy. A rank that rests is
/// woken by what happens to it, but not before its processor is free.
class simulated_processors {
 public:
  static constexpr picoseconds never = (picoseconds::max)();

  simulated_processors(simulated_events& events, rank_type ranks) : events_(events), all_(ranks) {}

  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(all_.size()); }

  /// The time on a rank's own clock.
  [[nodiscard]] picoseconds time_of(rank_type r) const noexcept {
    return all_[r].busy_until < events_.now() ? events_.now() : all_[r].busy_until;
  }
  [[nodiscard]] bool busy(rank_type r) const noexcept { return all_[r].busy_until > events_.now(); }

  /// Keeps a processor busy.
  void spend(rank_type r, picoseconds work) noexcept {
    if (work != picoseconds{}) {
      double const times = all_[r].slowness;
      all_[r].busy_until =
          time_of(r) +
          (times == 1 ? work : picoseconds(static_cast<std::int64_t>(static_cast<double>(work.count()) * times)));
    }
  }
  void slow_down(rank_type r, double times) noexcept { all_[r].slowness = times; }
  void pause(rank_type r, picoseconds lasting) noexcept { all_[r].busy_until = time_of(r) + lasting; }

  /// Rank r has nothing to do until something has happened to it, or until a time.
  void rest(rank_type r, picoseconds until = never) {
    processor& p = all_[r];
    p.resting = true;
    p.until = until;
    if (std::exchange(p.missed, false)) {
      call_when_free(r);
    }
    set_timer(r);
  }
  /// Something is there for a rank that is too busy to see it.
  void misses(rank_type r) noexcept { all_[r].missed = true; }
  /// Rank r is woken now.
  void wake(rank_type r) { events_.push(events_.now(), simulated_event::kind::wake, r); }

  /// Something has happened to rank r: returns it if it is to go on now, otherwise no_rank.
  [[nodiscard]] rank_type awake(rank_type r) {
    processor& p = all_[r];
    if (!p.resting || p.dead) {
      return no_rank;
    }
    if (busy(r)) {
      call_when_free(r);
      return no_rank;
    }
    p.resting = false;
    return r;
  }

  /// Its timer has run out, which may have been set for an earlier rest.
  [[nodiscard]] rank_type ring(rank_type r) {
    processor& p = all_[r];
    if (p.timer == events_.now()) {
      p.timer = never;
    }
    if (!p.resting) {
      return no_rank;
    }
    if (p.until <= events_.now()) {
      return awake(r);
    }
    set_timer(r);
    return no_rank;
  }

  /// It is returned one last time, to clear up, if it has not ended.
  [[nodiscard]] rank_type die(rank_type r, picoseconds detection) {
    processor& p = all_[r];
    if (p.dead) {
      return no_rank;
    }
    p.dead = true;
    p.found = events_.now() + detection;
    deaths_.push_back(r);
    return std::exchange(p.resting, false) ? r : no_rank;
  }
  [[nodiscard]] bool dead(rank_type r) const noexcept { return all_[r].dead; }
  /// Whether others can know that it is.
  [[nodiscard]] bool found_dead(rank_type r) const noexcept { return all_[r].dead && all_[r].found <= events_.now(); }
  [[nodiscard]] std::vector<rank_type> const& deaths() const noexcept { return deaths_; }

 private:
  struct processor {
    picoseconds busy_until{};
    picoseconds until = never;  ///< its rank rests until then at most
    picoseconds timer = never;  ///< the time of the earliest timer that is set
    picoseconds called{};       ///< the last time at which it was to be woken because it would be free
    picoseconds found = never;  ///< when others can find it dead
    double slowness = 1;
    bool resting = false;
    bool missed = false;  ///< something is there that it has been too busy to see
    bool dead = false;
  };

  /// One timer a rank: an earlier one sets it again.
  void set_timer(rank_type r) {
    processor& p = all_[r];
    if (p.until < p.timer) {
      p.timer = p.until;
      events_.push(p.until, simulated_event::kind::timer, r);
    }
  }
  void call_when_free(rank_type r) {
    processor& p = all_[r];
    if (p.called != p.busy_until) {
      p.called = p.busy_until;
      events_.push(p.busy_until, simulated_event::kind::wake, r);
    }
  }

  simulated_events& events_;
  std::vector<processor> all_;
  std::vector<rank_type> deaths_;
};

}  // namespace tutti::detail::simulation
