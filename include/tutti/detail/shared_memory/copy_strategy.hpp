// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Chooses between two ways to copy to a ring that others read, by their measured times.
///
/// A copy through the caches is cheaper while the cores share one. If they do not, a line that a peer has read costs
/// ten times as much to write as past the caches, and the reader gets it no later. A virtual machine moves from one to
/// the other within seconds, so one measurement at the start is not enough (bench/results/copies_past_the_caches.md):
/// some copies are timed, and trials are made the other way.
///
/// A new or evicted ring is as expensive, but for one lap only. So copies move past the caches after one and a half
/// laps of expensive ones. They move back after cheap trials, four in 32 copies after a change, one in 128 once the
/// choice has held.
///
/// The caller measures times.
class copy_strategy {
 public:
  enum class path { through_caches, past_caches };

  static constexpr std::uint32_t timing_interval = 8;
  static constexpr std::uint32_t trial_interval = 128;  ///< longest, while trials confirm the choice
  /// A copy through the caches is expensive from this multiple of the price past them. Measured: 0.5 to 2.5 where the
  /// caches are the better way for writer and reader together, 3 to 10 where they are not.
  static constexpr std::int64_t expensive_from = 3;
  /// Consecutive copies or trials that are no accident.
  static constexpr int convincing = 4;

  /// @param ring_bytes bytes after which the same memory is written again
  explicit copy_strategy(std::size_t ring_bytes) noexcept : ring_bytes_(static_cast<std::int64_t>(ring_bytes)) {}

  struct decision {
    path choice;
    bool is_timed;  ///< the caller must measure it for `record_time`
  };
  /// Decides how to make the next copy.
  [[nodiscard]] decision next() noexcept {
    if (++copies_ % timing_interval != 0) {
      return {usual_, false};
    }
    if (copies_ - last_trial_ < trial_gap_) {
      return {usual_, true};
    }
    last_trial_ = copies_;
    return {usual_ == path::through_caches ? path::past_caches : path::through_caches, true};
  }

  void record_time(path choice, std::size_t bytes, duration time) noexcept {
    std::int64_t const price = time.count() * unit / static_cast<std::int64_t>(bytes);
    if (choice == path::past_caches) {
      prices_past_caches_[newest_++ % price_count] = price;
      if (usual_ == path::through_caches) {
        set_trial_gap(trial_gap_ + timing_interval);  // the first ones touch a new ring
      }
      return;
    }
    bool const is_expensive = price / expensive_from > least_price_past_caches();
    if (usual_ == path::through_caches) {
      record_usual(is_expensive, static_cast<std::int64_t>(bytes) * timing_interval);
    } else {
      record_trial(is_expensive);
    }
  }

 private:
  static constexpr std::int64_t unit = 65536;  ///< prices are nanoseconds for this many bytes
  static constexpr unsigned price_count = 4;
  static constexpr std::int64_t unknown = INT64_MAX;

  /// Counts `bytes` bytes through the caches, by one timed copy. Expensive ones have twice the weight: from a third of
  /// them on, past the caches costs no more in total.
  void record_usual(bool is_expensive, std::int64_t bytes) noexcept {
    expensive_bytes_ = is_expensive                   ? expensive_bytes_ + bytes
                       : expensive_bytes_ < bytes / 2 ? 0
                                                      : expensive_bytes_ - bytes / 2;
    if (expensive_bytes_ >= ring_bytes_ + ring_bytes_ / 2 && expensive_bytes_ >= convincing * bytes) {
      change_to(path::past_caches);
    }
  }
  /// Counts a trial through the caches.
  void record_trial(bool is_expensive) noexcept {
    if (is_expensive) {
      cheap_trials_ = 0;
      set_trial_gap(trial_gap_ * 2);
      return;
    }
    set_trial_gap(trial_gap_ / 2);
    if (++cheap_trials_ == convincing) {
      change_to(path::through_caches);
    }
  }
  void set_trial_gap(std::uint32_t copies) noexcept {
    trial_gap_ = copies < timing_interval ? timing_interval : copies > trial_interval ? trial_interval : copies;
  }
  void change_to(path choice) noexcept {
    usual_ = choice;
    expensive_bytes_ = 0;
    cheap_trials_ = 0;
    trial_gap_ = timing_interval;
  }

  /// The least of a few, as interrupted copies tell nothing.
  [[nodiscard]] std::int64_t least_price_past_caches() const noexcept {
    std::int64_t least = unknown;
    for (std::int64_t const price : prices_past_caches_) {
      least = price < least ? price : least;
    }
    return least;
  }

  std::int64_t ring_bytes_;
  path usual_ = path::through_caches;
  std::int64_t expensive_bytes_ = 0;  ///< recent expensive bytes, less half of the others
  int cheap_trials_ = 0;              ///< consecutive, while copies go past the caches
  std::uint32_t copies_ = 0;
  std::uint32_t last_trial_ = 0;               ///< number of the last trial's copy
  std::uint32_t trial_gap_ = timing_interval;  ///< copies until the next trial
  unsigned newest_ = 0;
  std::int64_t prices_past_caches_[price_count] = {unknown, unknown, unknown, unknown};
};

}  // namespace tutti::detail::shared_memory
