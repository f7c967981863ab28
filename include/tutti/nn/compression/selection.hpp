// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The magnitude of a number as an integer: in the same order, with infinity above all numbers and NaN above infinity.
[[nodiscard]] constexpr std::uint32_t magnitude(float x) noexcept {
  return std::bit_cast<std::uint32_t>(x) & 0x7fffffffU;
}

/// Which numbers are sent: those above a magnitude, and of those that have it the first few.
struct cut {
  std::uint32_t at = 0;  ///< the magnitude, as bits: all above it are sent
  std::size_t ties = 0;  ///< how many of those that have it are sent
};

/// Sends the share `keep` of the numbers, at least one: those of the largest magnitude, exactly. NaN and infinity are
/// the largest, so that they are never kept back.
///
/// For the first `warm_up` steps more are sent: a quarter at first, from step to step less, by the same factor (Lin et
/// al. 2018, section 3.3, where the share changes once an epoch).
class top_k {
 public:
  /// All ranks send as many.
  static constexpr bool as_many_on_all_ranks = true;

  /// @pre 0 < keep <= 1
  explicit top_k(double keep, std::size_t warm_up = 0) : keep_(keep), warm_up_(warm_up) {
    expects(keep > 0 && keep <= 1, "top_k: the share to keep must be in (0, 1], not ", keep);
  }

  /// How many of n numbers are sent at a step.
  [[nodiscard]] std::size_t count(std::size_t n, std::size_t step) const {
    double share = keep_;
    if (step < warm_up_ && keep_ < most_at_first) {
      double const passed = static_cast<double>(step) / static_cast<double>(warm_up_);
      share = most_at_first * std::pow(keep_ / most_at_first, passed);
    }
    return (std::min)(n, static_cast<std::size_t>(std::ceil(share * static_cast<double>(n))));
  }

  /// Finds the k-th largest magnitude digit by digit, from the top: a histogram of the leading 11 bits of
  /// all, of the next 10 of those that share the digit wanted, of the last 10. No sorting, no sampling: cost O(n), and
  /// the same on every machine.
  [[nodiscard]] cut choose(std::span<float const> numbers, std::size_t step) {
    std::size_t const k = count(numbers.size(), step);
    if (k == numbers.size()) {
      return {0, k};
    }
    rest_.clear();
    std::size_t wanted = k;  // of those that share all digits so far
    std::uint32_t prefix = 0;
    counts_.fill(0);
    for (float const x : numbers) {
      ++counts_[magnitude(x) >> 20];
    }
    prefix = digit(wanted) << 20;
    for (float const x : numbers) {
      if ((magnitude(x) & ~0xfffffU) == prefix) {
        rest_.push_back(magnitude(x));
      }
    }
    for (unsigned const shift : {10U, 0U}) {
      counts_.fill(0);
      for (std::uint32_t const m : rest_) {
        ++counts_[(m >> shift) & 0x3ffU];
      }
      prefix |= digit(wanted) << shift;
      std::erase_if(rest_, [&](std::uint32_t m) { return (m >> shift) != (prefix >> shift); });
    }
    return {prefix, wanted};
  }

 private:
  static constexpr double most_at_first = 0.25;

  /// The digit of the `wanted`-th largest; `wanted` becomes its place among those with that digit.
  [[nodiscard]] std::uint32_t digit(std::size_t& wanted) const noexcept {
    std::size_t at = counts_.size() - 1;
    while (counts_[at] < wanted) {
      wanted -= counts_[at--];
    }
    return static_cast<std::uint32_t>(at);
  }

  double keep_;
  std::size_t warm_up_;
  std::array<std::size_t, 2048> counts_{};
  std::vector<std::uint32_t> rest_;
};

/// Sends all numbers whose magnitude is at least `least`, however many there are, and NaN (Strom, "Scalable
/// distributed DNN training using commodity GPU cloud computing", Interspeech 2015).
class threshold {
 public:
  static constexpr bool as_many_on_all_ranks = false;  ///< ranks may send different numbers of gradients

  /// @pre least > 0
  explicit threshold(float least) : at_(magnitude(least)) {
    expects(least > 0, "threshold: the least magnitude that is sent must be above 0, not ", least);
  }

  /// Everything from the threshold on.
  [[nodiscard]] cut choose(std::span<float const> numbers, std::size_t) const noexcept { return {at_, numbers.size()}; }

 private:
  std::uint32_t at_;
};

}  // namespace tutti::nn
