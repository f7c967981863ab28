// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/time.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tutti {

/// What a rank has found out about copying to memory that others read, and so in which of two ways it does.
///
/// Through the caches is the cheaper one while the processors share a cache: the lines are there, and the reader
/// has them from there. Where they do not, a line that a peer has read is ten times as dear to write as it is
/// past the caches, from where the reader has it no later. A virtual machine is moved from one to the other within
/// seconds, so a probe at the start would not do (docs/performance.md). Some of the copies are timed, and now and
/// then one is made the other way to know both prices.
///
/// All times come from the caller.
class copy_account {
 public:
  enum class way { through_caches, past_caches };

  static constexpr std::uint32_t timed_each = 8;
  static constexpr std::uint32_t tried_each = 128;
  /// Dear is a copy through the caches at more than so many times the price of one past them. Half of it to two and
  /// a half times was seen where it is the better way for writer and reader together, and three to ten times where
  /// it is not.
  static constexpr std::int64_t dear_from = 3;
  /// So many dear ones of the last eight are no accident; nor are so many trials, one after the other, that were not.
  static constexpr int convincing = 4;

  struct turn {
    way by;
    bool timed;  ///< `took` wants to know how long it takes
  };
  /// How to make the next copy.
  [[nodiscard]] turn next() noexcept {
    ++copies_;
    return {copies_ % tried_each == 0 ? other(usual_) : usual_, copies_ % timed_each == 0};
  }

  void took(way by, std::size_t bytes, duration time) noexcept {
    std::int64_t const price = time.count() * unit / static_cast<std::int64_t>(bytes);
    if (by == way::past_caches) {
      past_caches_[newest_++ % kept] = price;
      return;
    }
    dear_ = static_cast<std::uint8_t>(dear_ * 2U + (price / dear_from > past_caches() ? 1U : 0U));
    if (usual_ == way::through_caches && std::popcount(dear_) >= convincing) {
      usual_ = way::past_caches;
    } else if (usual_ == way::past_caches && std::countr_zero(dear_) >= convincing) {
      usual_ = way::through_caches;
    }
  }

 private:
  static constexpr std::int64_t unit = 65536;  ///< prices are nanoseconds for so many bytes
  static constexpr unsigned kept = 4;
  static constexpr std::int64_t unknown = INT64_MAX;
  /// The first copies touch their memory for the first time, which says nothing; soon after them comes a trial.
  static constexpr std::uint32_t first = tried_each - 40;

  [[nodiscard]] static constexpr way other(way w) noexcept {
    return w == way::through_caches ? way::past_caches : way::through_caches;
  }
  /// The least of a few, for a copy that is interrupted says nothing.
  [[nodiscard]] std::int64_t past_caches() const noexcept {
    std::int64_t least = unknown;
    for (std::int64_t const price : past_caches_) {
      least = price < least ? price : least;
    }
    return least;
  }

  std::uint32_t copies_ = first;
  way usual_ = way::through_caches;
  std::uint8_t dear_ = 0;  ///< which of the last eight through the caches that were timed; the newest is the lowest bit
  unsigned newest_ = 0;
  std::int64_t past_caches_[kept] = {unknown, unknown, unknown, unknown};
};

}  // namespace tutti
