// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/transport/simulated_network.hpp>

#include <vector>

namespace tutti::detail {

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

}  // namespace tutti::detail
