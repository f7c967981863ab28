// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// What a rank has found out about copying to a ring that others read, and so in which of two ways it does.
///
/// Through the caches is the cheaper one while the processors share a cache: the lines are there, and the reader
/// has them from there. Where they do not, a line that a peer has read is ten times as dear to write as it is
/// past the caches, from where the reader has it no later. A virtual machine is moved from one to the other within
/// seconds, so a probe at the start would not do (bench/results/copies_past_the_caches.md). Some of the copies are
/// timed, and now and then one is made the other way to know both prices.
///
/// A ring that is touched for the first time, or that something else has washed out of the caches, is as dear to
/// write; but only once around. So copies go past the caches when half as many again were dear. That they should go
/// back is seen by single trials, which are the closer together the more is in doubt: four in 32 copies after a change
/// of mind, one in 128 once the way has proved right for long.
///
/// All times come from the caller.
class copy_account {
 public:
  enum class path { through_caches, past_caches };

  static constexpr std::uint32_t timing_interval = 8;
  static constexpr std::uint32_t trial_interval = 128;  ///< at last, if nothing speaks against the way
  /// Dear is a copy through the caches at more than this many times the price of one past them. Half of it to two and
  /// a half times was seen where it is the better way for writer and reader together, and three to ten times where
  /// it is not.
  static constexpr std::int64_t expensive_from = 3;
  /// This many copies, or trials, one after the other, are no accident.
  static constexpr int convincing = 4;

  /// @param ring_bytes how much is copied until the same memory is written again
  explicit copy_account(std::size_t ring_bytes) noexcept : ring_bytes_(static_cast<std::int64_t>(ring_bytes)) {}

  struct decision {
    path choice;
    bool is_timed;  ///< `took` wants to know how long it takes
  };
  /// How to make the next copy.
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
        set_trial_gap(trial_gap_ + timing_interval);  // the first ones find a ring that has not been touched
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

  /// Through the caches, as usual, went `bytes` bytes, of which one copy was timed. Dear ones weigh twice as much as
  /// others: with a third of them past the caches is no dearer on the whole.
  void record_usual(bool is_expensive, std::int64_t bytes) noexcept {
    expensive_bytes_ = is_expensive                   ? expensive_bytes_ + bytes
                       : expensive_bytes_ < bytes / 2 ? 0
                                                      : expensive_bytes_ - bytes / 2;
    if (expensive_bytes_ >= ring_bytes_ + ring_bytes_ / 2 && expensive_bytes_ >= convincing * bytes) {
      change_to(path::past_caches);
    }
  }
  /// One copy through the caches, to see what it costs.
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

  /// The least of a few, for a copy that is interrupted says nothing.
  [[nodiscard]] std::int64_t least_price_past_caches() const noexcept {
    std::int64_t least = unknown;
    for (std::int64_t const price : prices_past_caches_) {
      least = price < least ? price : least;
    }
    return least;
  }

  std::int64_t ring_bytes_;
  path usual_ = path::through_caches;
  std::int64_t expensive_bytes_ = 0;  ///< what went dear through the caches of late, less half of what did not
  int cheap_trials_ = 0;              ///< in a row, while the usual way is past the caches
  std::uint32_t copies_ = 0;
  std::uint32_t last_trial_ = 0;               ///< the number of the last copy that was made the other way
  std::uint32_t trial_gap_ = timing_interval;  ///< how many copies from there to the next
  unsigned newest_ = 0;
  std::int64_t prices_past_caches_[price_count] = {unknown, unknown, unknown, unknown};
};

}  // namespace tutti::detail::shared_memory
