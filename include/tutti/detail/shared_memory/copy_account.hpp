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
  enum class way { through_caches, past_caches };

  static constexpr std::uint32_t timed_each = 8;
  static constexpr std::uint32_t tried_each = 128;  ///< at last, if nothing speaks against the way
  /// Dear is a copy through the caches at more than this many times the price of one past them. Half of it to two and
  /// a half times was seen where it is the better way for writer and reader together, and three to ten times where
  /// it is not.
  static constexpr std::int64_t dear_from = 3;
  /// This many copies, or trials, one after the other, are no accident.
  static constexpr int convincing = 4;

  /// @param ring_bytes how much is copied until the same memory is written again
  explicit copy_account(std::size_t ring_bytes) noexcept : ring_bytes_(static_cast<std::int64_t>(ring_bytes)) {}

  struct turn {
    way by;
    bool timed;  ///< `took` wants to know how long it takes
  };
  /// How to make the next copy.
  [[nodiscard]] turn next() noexcept {
    if (++copies_ % timed_each != 0) {
      return {usual_, false};
    }
    if (copies_ - tried_ < gap_) {
      return {usual_, true};
    }
    tried_ = copies_;
    return {usual_ == way::through_caches ? way::past_caches : way::through_caches, true};
  }

  void took(way by, std::size_t bytes, duration time) noexcept {
    std::int64_t const price = time.count() * unit / static_cast<std::int64_t>(bytes);
    if (by == way::past_caches) {
      past_caches_[newest_++ % kept] = price;
      if (usual_ == way::through_caches) {
        try_after(gap_ + timed_each);  // the first ones find a ring that has not been touched
      }
      return;
    }
    bool const dear = price / dear_from > past_caches();
    if (usual_ == way::through_caches) {
      ran(dear, static_cast<std::int64_t>(bytes) * timed_each);
    } else {
      tried(dear);
    }
  }

 private:
  static constexpr std::int64_t unit = 65536;  ///< prices are nanoseconds for this many bytes
  static constexpr unsigned kept = 4;
  static constexpr std::int64_t unknown = INT64_MAX;

  /// Through the caches, as usual, went `bytes` bytes, of which one copy was timed. Dear ones weigh twice as much as
  /// others: with a third of them past the caches is no dearer on the whole.
  void ran(bool dear, std::int64_t bytes) noexcept {
    dear_bytes_ = dear ? dear_bytes_ + bytes : dear_bytes_ < bytes / 2 ? 0 : dear_bytes_ - bytes / 2;
    if (dear_bytes_ >= ring_bytes_ + ring_bytes_ / 2 && dear_bytes_ >= convincing * bytes) {
      change_to(way::past_caches);
    }
  }
  /// One copy through the caches, to see what it costs.
  void tried(bool dear) noexcept {
    if (dear) {
      cheap_trials_ = 0;
      try_after(gap_ * 2);
      return;
    }
    try_after(gap_ / 2);
    if (++cheap_trials_ == convincing) {
      change_to(way::through_caches);
    }
  }
  void try_after(std::uint32_t copies) noexcept {
    gap_ = copies < timed_each ? timed_each : copies > tried_each ? tried_each : copies;
  }
  void change_to(way w) noexcept {
    usual_ = w;
    dear_bytes_ = 0;
    cheap_trials_ = 0;
    gap_ = timed_each;
  }

  /// The least of a few, for a copy that is interrupted says nothing.
  [[nodiscard]] std::int64_t past_caches() const noexcept {
    std::int64_t least = unknown;
    for (std::int64_t const price : past_caches_) {
      least = price < least ? price : least;
    }
    return least;
  }

  std::int64_t ring_bytes_;
  way usual_ = way::through_caches;
  std::int64_t dear_bytes_ = 0;  ///< what went dear through the caches of late, less half of what did not
  int cheap_trials_ = 0;         ///< in a row, while the usual way is past the caches
  std::uint32_t copies_ = 0;
  std::uint32_t tried_ = 0;         ///< the number of the last copy that was made the other way
  std::uint32_t gap_ = timed_each;  ///< how many copies from there to the next
  unsigned newest_ = 0;
  std::int64_t past_caches_[kept] = {unknown, unknown, unknown, unknown};
};

}  // namespace tutti::detail::shared_memory
