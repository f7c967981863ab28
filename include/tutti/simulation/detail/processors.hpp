// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/simulation/extend/simulated_network.hpp>

#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline simulation {

/// A scheduled event and the message, rank or pause that it happens to.
struct simulated_event {
  enum class kind : std::uint8_t { inject, cross, enter, arrive, wake, timer, pause, death };

  picoseconds time;
  std::uint64_t order;  ///< sequence number << 4 | kind
  std::uint32_t subject;

  [[nodiscard]] kind event_kind() const noexcept { return static_cast<kind>(order & 15U); }
  [[nodiscard]] bool precedes(simulated_event const& other) const noexcept {
    return time != other.time ? time < other.time : order < other.order;
  }
};

/// The clock of a simulation and its future events. The earliest event comes first; events at one time come in the
/// order in which they were scheduled, so every simulation is repeatable. The heap has four children a node: half the
/// cache misses of two.
class simulated_events {
 public:
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] picoseconds now() const noexcept { return now_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return number_; }  ///< number of events ever scheduled

  void push(picoseconds time, simulated_event::kind kind, std::uint32_t subject) {
    simulated_event const e{time, number_++ << 4 | static_cast<std::uint64_t>(kind), subject};
    std::size_t at = heap_.size();
    heap_.push_back(e);
    for (; at != 0 && e.precedes(heap_[(at - 1) / 4]); at = (at - 1) / 4) {
      heap_[at] = heap_[(at - 1) / 4];
    }
    heap_[at] = e;
  }

  /// Removes the next event and advances the clock to its time. @pre !empty()
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
        least = heap_[other].precedes(heap_[least]) ? other : least;
      }
      if (!heap_[least].precedes(last)) {
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

/// The processors of a simulation, one a rank: busy times, and the ranks that rest.
///
/// A rank's own clock runs ahead of the simulation's while its processor is busy. An event wakes a rank that rests,
/// but not before its processor is free.
class simulated_processors {
 public:
  static constexpr picoseconds never = (picoseconds::max)();

  simulated_processors(simulated_events& events, rank_type ranks) : events_(events), processors_(ranks) {}

  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(processors_.size()); }

  [[nodiscard]] picoseconds time_of(rank_type r) const noexcept {
    return processors_[r].busy_until < events_.now() ? events_.now() : processors_[r].busy_until;
  }
  [[nodiscard]] bool is_busy(rank_type r) const noexcept { return processors_[r].busy_until > events_.now(); }

  /// Occupies the processor of a rank, for longer if the rank is slowed down.
  void spend(rank_type r, picoseconds work) noexcept {
    if (work != picoseconds{}) {
      double const times = processors_[r].slowness;
      processors_[r].busy_until =
          time_of(r) +
          (times == 1 ? work : picoseconds(static_cast<std::int64_t>(static_cast<double>(work.count()) * times)));
    }
  }
  void slow_down(rank_type r, double times) noexcept { processors_[r].slowness = times; }
  void pause(rank_type r, picoseconds lasting) noexcept { processors_[r].busy_until = time_of(r) + lasting; }

  /// Lets rank r rest until an event reaches it, or until a time.
  void rest(rank_type r, picoseconds deadline = never) {
    processor& p = processors_[r];
    p.resting = true;
    p.deadline = deadline;
    if (std::exchange(p.has_missed_event, false)) {
      wake_when_free(r);
    }
    set_timer(r);
  }
  /// Records an event that a busy rank did not see.
  void note_missed(rank_type r) noexcept { processors_[r].has_missed_event = true; }
  void wake(rank_type r) { events_.push(events_.now(), simulated_event::kind::wake, r); }

  /// Returns rank r if an event that reached it lets it run now, otherwise no_rank.
  [[nodiscard]] rank_type run_if_idle(rank_type r) {
    processor& p = processors_[r];
    if (!p.resting || p.is_dead) {
      return no_rank;
    }
    if (is_busy(r)) {
      wake_when_free(r);
      return no_rank;
    }
    p.resting = false;
    return r;
  }

  /// Handles a timer of rank r; the timer may belong to an earlier rest.
  [[nodiscard]] rank_type expire_timer(rank_type r) {
    processor& p = processors_[r];
    if (p.timer_time == events_.now()) {
      p.timer_time = never;
    }
    if (!p.resting) {
      return no_rank;
    }
    if (p.deadline <= events_.now()) {
      return run_if_idle(r);
    }
    set_timer(r);
    return no_rank;
  }

  /// Kills rank r. Returns it one last time, to unwind its program, if it was resting; otherwise no_rank.
  [[nodiscard]] rank_type kill(rank_type r, picoseconds detection) {
    processor& p = processors_[r];
    if (p.is_dead) {
      return no_rank;
    }
    p.is_dead = true;
    p.detection_time = events_.now() + detection;
    deaths_.push_back(r);
    return std::exchange(p.resting, false) ? r : no_rank;
  }
  [[nodiscard]] bool is_dead(rank_type r) const noexcept { return processors_[r].is_dead; }
  /// True if other ranks can know that rank r is dead.
  [[nodiscard]] bool is_known_dead(rank_type r) const noexcept {
    return processors_[r].is_dead && processors_[r].detection_time <= events_.now();
  }
  [[nodiscard]] std::vector<rank_type> const& deaths() const noexcept { return deaths_; }

 private:
  struct processor {
    picoseconds busy_until{};
    picoseconds deadline = never;        ///< latest end of the rest
    picoseconds timer_time = never;      ///< time of the earliest scheduled timer
    picoseconds wake_time{};             ///< time of the last scheduled wake-up of a busy rank
    picoseconds detection_time = never;  ///< time from which others can know of the death
    double slowness = 1;
    bool resting = false;
    bool has_missed_event = false;  ///< an event arrived that the busy rank has not seen
    bool is_dead = false;
  };

  /// Schedules at most one useful timer a rank: only an earlier deadline schedules another one.
  void set_timer(rank_type r) {
    processor& p = processors_[r];
    if (p.deadline < p.timer_time) {
      p.timer_time = p.deadline;
      events_.push(p.deadline, simulated_event::kind::timer, r);
    }
  }
  void wake_when_free(rank_type r) {
    processor& p = processors_[r];
    if (p.wake_time != p.busy_until) {
      p.wake_time = p.busy_until;
      events_.push(p.busy_until, simulated_event::kind::wake, r);
    }
  }

  simulated_events& events_;
  std::vector<processor> processors_;
  std::vector<rank_type> deaths_;
};

}  // namespace tutti::detail::simulation
