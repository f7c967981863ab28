// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <atomic>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Which rank looks for dead ones next: lies in memory that all ranks share, so what one finds, all learn.
///
/// A look asks the system about every rank, and the system walks the list of all each time; each rank that waits
/// wants a look every few milliseconds: 150 processes on two cores spent half of their time on that. So after a look of
/// any rank there is none for 50 us for each rank. Up to 200 ranks all looks together take a few hundredths of a core
/// at most, and a rank that waits alone still looks every 10 ms. Thread-safe, lock-free.
class look_turns {
 public:
  static constexpr duration pause_per_rank = std::chrono::microseconds(50);

  /// True for one of the ranks that ask at the same time, unless there was a look a moment ago.
  [[nodiscard]] bool take(time_point now, rank_type ranks) noexcept {
    std::int64_t const pause = pause_per_rank.count() * ranks;
    std::int64_t next_look = next_look_.load(std::memory_order_relaxed);
    // One that is further ahead was set by another clock: containers may have their own.
    bool const too_soon = now.count() < next_look && next_look - now.count() <= pause;
    return !too_soon && next_look_.compare_exchange_strong(next_look, now.count() + pause, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> next_look_{0};  ///< from when on there may be a look
};

}  // namespace tutti::detail::shared_memory
