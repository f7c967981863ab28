// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <atomic>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Limits how often ranks probe for dead ones. Is in memory that all ranks share; a fault that one finds is seen by
/// all.
///
/// A probe asks the system about every rank, which walks a list of all each time, and each waiting rank wants a probe
/// every few milliseconds: 150 processes on two cores spent half of their time on it. So after a probe by any rank
/// there is none for 50 us for each rank. Up to 200 ranks, all probes take a few hundredths of a core, and a single
/// waiting rank still probes every 10 ms. Thread-safe, lock-free.
class probe_limit {
 public:
  static constexpr duration pause_per_rank = std::chrono::microseconds(50);

  /// True for one of the ranks that ask at the same time, if the last probe is long enough ago.
  [[nodiscard]] bool take(time_point now, rank_type ranks) noexcept {
    std::int64_t const pause = pause_per_rank.count() * ranks;
    std::int64_t next_probe = next_probe_.load(std::memory_order_relaxed);
    // A later time was set by another clock: containers may have their own.
    bool const too_soon = now.count() < next_probe && next_probe - now.count() <= pause;
    return !too_soon && next_probe_.compare_exchange_strong(next_probe, now.count() + pause, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> next_probe_{0};  ///< earliest time of the next probe
};

}  // namespace tutti::detail::shared_memory
