// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>

#include <algorithm>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::udp {

/// Rate control of a member: round trips and retry times as in RFC 6298, and a window of packets in flight.
///
/// The window grows with each result, unless round trips have become so long that more packets would only queue. It
/// is halved, at most once a round trip, by ECN marks and by losses after repeated silence.
class rate_control {
 public:
  /// Records a round trip, of a packet that was sent once.
  void note_round_trip(duration round_trip) noexcept {
    duration const difference = round_trip > mean_ ? round_trip - mean_ : mean_ - round_trip;
    shortest_ = (std::min)(shortest_ + shortest_ / 64, round_trip);
    deviation_ += (difference - deviation_) / 4;
    mean_ += (round_trip - mean_) / 8;
    backoff_ = 1;
  }
  void note_result() noexcept {
    if (mean_ > 4 * shortest_ + std::chrono::milliseconds(2)) {
      return;
    }
    growth_ += slow_start_ ? window_ : 1;
    if (growth_ >= window_) {
      growth_ -= window_;
      window_ = (std::min)(window_ + 1, max_window_);
    }
  }

  void note_congestion(time_point now) noexcept {
    if (now - last_halving_ >= mean_) {
      last_halving_ = now;
      slow_start_ = false;
      window_ = (std::max)(window_ / 2, min_window);
      growth_ = 0;
    }
  }
  /// Records a lost contribution; congestion, if losses are frequent.
  void note_loss(time_point now) noexcept {
    if (backoff_ >= 8) {
      note_congestion(now);
    }
  }
  /// Records that a timer expired and a query is sent: doubles the retry time of all lanes, until the next round trip
  /// that is measured.
  void note_silence() noexcept { backoff_ = (std::min)(backoff_ * 2, 64U); }

  /// Packets that may be in flight.
  [[nodiscard]] std::uint32_t window() const noexcept { return window_; }
  /// Time after which a packet that later ones have overtaken counts as lost. It is based on the shortest round trip,
  /// because longer ones include waiting for packets that other workers lost.
  [[nodiscard]] duration repair_delay() const noexcept { return shortest_ + std::chrono::microseconds(300); }
  /// Time after which a packet that nothing has overtaken counts as lost.
  [[nodiscard]] duration retry_after() const noexcept {
    return std::clamp<duration>((mean_ + 4 * deviation_ + std::chrono::milliseconds(1)) * backoff_,
                                std::chrono::milliseconds(2), std::chrono::milliseconds(100));
  }

  /// Limits the packets in flight.
  void limit(std::uint32_t max_window) noexcept { max_window_ = (std::max)(max_window, min_window); }

 private:
  static constexpr std::uint32_t min_window = 4;

  duration mean_ = std::chrono::milliseconds(1);
  duration shortest_ = std::chrono::milliseconds(1);
  duration deviation_ = std::chrono::microseconds(500);
  std::uint32_t backoff_ = 1;
  std::uint32_t window_ = 64;
  std::uint32_t max_window_ = 64;
  std::uint32_t growth_ = 0;
  bool slow_start_ = true;
  time_point last_halving_{};
};

}  // namespace tutti::detail::udp
