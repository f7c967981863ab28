// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline core {

/// Exponential backoff: after a useless attempt, further attempts are suppressed for a time, which doubles if the next
/// one is soon useless, too. So a short disturbance costs little, and a lasting one little more.
class backoff {
 public:
  constexpr backoff(duration shortest, duration longest) noexcept : shortest_(shortest), longest_(longest) {}

  /// True while attempts are suppressed. `clock` is called only if that may have ended.
  template <class Clock>
  [[nodiscard]] bool is_active(Clock clock) noexcept {
    return is_active_ && (is_active_ = clock() < end_);
  }

  void begin(time_point now) noexcept {
    bool const is_repeat = now - end_ < length_;  // attempts resumed for less than the suppressed time
    length_ = !is_repeat ? shortest_ : length_ * 2 < longest_ ? length_ * 2 : longest_;
    end_ = now + length_;
    is_active_ = true;
  }

 private:
  duration shortest_;
  duration longest_;
  duration length_{};
  time_point end_{};
  bool is_active_ = false;
};

/// Decides from the experience on this core if a rank waits awake or asleep.
///
/// A yield lasts until the others on the core have had their turns. A waiting rank's turn takes a microsecond; a
/// program that computes takes the rest of its time slice, 4 ms and more, after each yield. A sleeping rank gets the
/// core as soon as it is woken, but waking it from another core costs some 30 us. So one of the two is far worse, and
/// which one depends on the others on the core. Both costs are counted: time lost by yields, and wake-ups saved by them
/// since.
///
/// All times come from the caller. A wait that ends while it spins costs nothing here.
class wait_policy {
 public:
  /// The longest yield to waiting ranks; a longer one was to a program that computes.
  static constexpr duration longest_turn = std::chrono::milliseconds(1);
  /// The time saved by a wait that ends with a yield: the sleep, and the wake-up by a rank on another core.
  static constexpr duration wake_up = std::chrono::microseconds(50);

  /// True if a wait may spin, unless oversubscribed, and if it may yield before it sleeps.
  template <class Clock>
  [[nodiscard]] bool spins(Clock clock) noexcept {
    return !spinning_.is_active(clock);
  }
  template <class Clock>
  [[nodiscard]] bool yields(Clock clock) noexcept {
    return !yielding_.is_active(clock);
  }

  /// Counts a yield during which the awaited message arrived.
  void count_avoided_wake_up() noexcept { ++avoided_wake_ups_; }

  /// Counts a yield that took this long. Returns true if it was to a program that computes: the caller had better
  /// sleep. If the yield lost more time than others saved since the last such one, the next waits do not yield, either.
  bool count_yield(duration length, time_point now) noexcept {
    if (length <= longest_turn) {
      return false;
    }
    if (length / wake_up > avoided_wake_ups_) {
      yielding_.begin(now);
    }
    avoided_wake_ups_ = 0;
    return true;
  }

  /// Stops spinning for a time: a whole spin was useless, and then the first yield, or a sleep shorter than the spin,
  /// brought the message. So the peer is on this core, even if there is one for each rank, since another program has
  /// another.
  void suppress_spins(time_point now) noexcept { spinning_.begin(now); }

 private:
  /// A useless spin takes 100 us, a yield to a program that computes some milliseconds: each costs a tenth at most.
  backoff spinning_{std::chrono::milliseconds(1), std::chrono::milliseconds(16)};
  backoff yielding_{std::chrono::milliseconds(20), std::chrono::milliseconds(1000)};
  std::int64_t avoided_wake_ups_ = 1000;  ///< enough for a first late yield without backoff
};

}  // namespace tutti::detail::core
