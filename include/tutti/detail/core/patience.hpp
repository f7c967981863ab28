// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline core {

/// Leaves alone for a while what was in vain: exponential backoff. What is in vain again as soon as it is
/// tried again is left alone for twice as long. So a short disturbance costs little, and of one that lasts
/// hardly more is seen than that it does.
class backoff {
 public:
  constexpr backoff(duration least, duration most) noexcept : least_(least), most_(most) {}

  /// Whether it is not to be tried yet. `clock` is asked only where that is the question.
  template <class Clock>
  [[nodiscard]] bool lasts(Clock clock) noexcept {
    return lasts_ && (lasts_ = clock() < until_);
  }

  void begin(time_point now) noexcept {
    bool const again = now - until_ < length_;  // it has been tried for no longer than it was left alone
    length_ = !again ? least_ : length_ * 2 < most_ ? length_ * 2 : most_;
    until_ = now + length_;
    lasts_ = true;
  }

 private:
  duration least_;
  duration most_;
  duration length_{};
  time_point until_{};
  bool lasts_ = false;
};

/// What a rank has found out about its core, and so whether it waits awake there or asleep.
///
/// A yield lasts until the others on the core have had their turns. Ranks that wait take a microsecond each; a
/// program that computes takes the rest of its time slice, 4 ms and more, and after each yield again. A rank that
/// sleeps is given the core as soon as it is woken; but that costs, from another core, some 30 us. So one way or the
/// other is wrong by far, and which one only the others on the core decide. Both prices are kept account of: what
/// yields have lost, and how many wake-ups they have saved since.
///
/// All times come from the caller. A wait that ends while it spins costs nothing here.
class patience {
 public:
  /// A yield that takes longer was to a program that computes: among ranks that wait, turns are short.
  static constexpr duration longest_turn = std::chrono::milliseconds(1);
  /// What a wait that ends with a yield has saved: the sleep, and the wake-up by a rank on another core.
  static constexpr duration wake_up = std::chrono::microseconds(50);

  /// Whether a wait may spin, if ranks do not outnumber cores; and whether it may yield before it sleeps.
  template <class Clock>
  [[nodiscard]] bool spins(Clock clock) noexcept {
    return !spinning_.lasts(clock);
  }
  template <class Clock>
  [[nodiscard]] bool yields(Clock clock) noexcept {
    return !yielding_.lasts(clock);
  }

  /// A yield has brought what was waited for.
  void saved_a_wake_up() noexcept { ++saved_; }

  /// A yield has taken this long. True if it was to a program that computes: better sleep, this time. If it has lost
  /// more than was saved since the last such yield, the next waits do not yield, either.
  bool late(duration took, time_point now) noexcept {
    if (took <= longest_turn) {
      return false;
    }
    if (took / wake_up > saved_) {
      yielding_.begin(now);
    }
    saved_ = 0;
    return true;
  }

  /// A whole spin was useless, and the first yield, or a sleep that was shorter than the spin, brought the message: the
  /// peer is on this very core, though there may be one for each, because another program is on another.
  void shares_a_core(time_point now) noexcept { spinning_.begin(now); }

 private:
  /// A spin in vain takes 100 us, a yield to a program that computes some milliseconds: each loses a tenth at most.
  backoff spinning_{std::chrono::milliseconds(1), std::chrono::milliseconds(16)};
  backoff yielding_{std::chrono::milliseconds(20), std::chrono::milliseconds(1000)};
  std::int64_t saved_ = 1000;  ///< so the first late yield of all is no rank's fault
};

}  // namespace tutti::detail::core
