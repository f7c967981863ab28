// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>

#include <algorithm>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::udp {

/// How fast a member sends, and how long it waits for an answer: round trips as in RFC 6298, and a window of packets
/// under way. It grows with each result, unless round trips have become so long that more would only wait in queues. It
/// is halved by marks of ECN, and where packets are lost after silence again and again, once a round trip.
class pace {
 public:
  /// The answer to a packet that was sent once came after this time.
  void answered(duration after) noexcept {
    duration const off = after > mean_ ? after - mean_ : mean_ - after;
    least_ = (std::min)(least_ + least_ / 64, after);
    deviation_ += (off - deviation_) / 4;
    mean_ += (after - mean_) / 8;
    backoff_ = 1;
  }
  void result() noexcept {
    if (mean_ > 4 * least_ + std::chrono::milliseconds(2)) {
      return;
    }
    credit_ += slow_start_ ? window_ : 1;
    if (credit_ >= window_) {
      credit_ -= window_;
      window_ = (std::min)(window_ + 1, most_);
    }
  }

  void congested(time_point now) noexcept {
    if (now - halved_ >= mean_) {
      halved_ = now;
      slow_start_ = false;
      window_ = (std::max)(window_ / 2, least);
      credit_ = 0;
    }
  }
  /// A contribution was lost: a sign of congestion if that happens again and again.
  void lost(time_point now) noexcept {
    if (backoff_ >= 8) {
      congested(now);
    }
  }
  /// A question was not answered, or by others that wait, too.
  void silence() noexcept { backoff_ = (std::min)(backoff_ * 2, 64U); }

  /// Packets that may be under way.
  [[nodiscard]] std::uint32_t window() const noexcept { return window_; }
  /// After which a packet that later ones have overtaken is taken for lost. By the shortest round trip: the others are
  /// those that wait for what another worker has lost.
  [[nodiscard]] duration patience() const noexcept { return least_ + std::chrono::microseconds(300); }
  /// After which a packet is taken for lost that nothing has overtaken.
  [[nodiscard]] duration retry_after() const noexcept {
    return std::clamp<duration>((mean_ + 4 * deviation_ + std::chrono::milliseconds(1)) * backoff_,
                                std::chrono::milliseconds(2), std::chrono::milliseconds(100));
  }

  /// At most this many packets are ever under way.
  void limit(std::uint32_t most) noexcept { most_ = (std::max)(most, least); }

 private:
  static constexpr std::uint32_t least = 4;

  duration mean_ = std::chrono::milliseconds(1);
  duration least_ = std::chrono::milliseconds(1);
  duration deviation_ = std::chrono::microseconds(500);
  std::uint32_t backoff_ = 1;
  std::uint32_t window_ = 64;
  std::uint32_t most_ = 64;
  std::uint32_t credit_ = 0;
  bool slow_start_ = true;
  time_point halved_{};
};

}  // namespace tutti::detail::udp
