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

/// The magnitude of a number as an integer of the same order, with infinity above all numbers and NaN above infinity.
[[nodiscard]] constexpr std::uint32_t magnitude(float x) noexcept {
  return std::bit_cast<std::uint32_t>(x) & 0x7fffffffU;
}

/// A choice of elements: all above a magnitude, and the first few with exactly that magnitude.
struct magnitude_cut {
  std::uint32_t at = 0;  ///< bits of the magnitude; all elements above it are sent
  std::size_t ties = 0;  ///< number of elements of that magnitude that are sent
};

/// Selects the share `keep` of the elements, at least one: exactly the ones of largest magnitude. NaN and infinity
/// are the largest, so they are always sent.
///
/// During the first `warm_up` steps more is sent: a quarter at first, then less by a constant factor each step (Lin
/// et al. 2018, section 3.3, where the share changes once an epoch).
class top_k {
 public:
  /// True: all ranks send equally many elements.
  static constexpr bool sends_equal_counts = true;

  /// @pre 0 < keep <= 1
  explicit top_k(double keep, std::size_t warm_up = 0) : keep_(keep), warm_up_(warm_up) {
    expects(keep > 0 && keep <= 1, "top_k: the share to keep must be in (0, 1], not ", keep);
  }

  /// The number of elements, out of n, that are sent in a step.
  [[nodiscard]] std::size_t count(std::size_t n, std::size_t step) const {
    double share = keep_;
    if (step < warm_up_ && keep_ < initial_share) {
      double const progress = static_cast<double>(step) / static_cast<double>(warm_up_);
      share = initial_share * std::pow(keep_ / initial_share, progress);
    }
    return (std::min)(n, static_cast<std::size_t>(std::ceil(share * static_cast<double>(n))));
  }

  /// Finds the k-th largest magnitude digit by digit: a histogram of the leading 11 bits of all magnitudes, then of
  /// the next 10 bits of the magnitudes with the selected leading digit, then of the last 10. No sorting, no
  /// sampling: cost O(n), and equal results on every machine.
  [[nodiscard]] magnitude_cut choose(std::span<float const> numbers, std::size_t step) {
    std::size_t const k = count(numbers.size(), step);
    if (k == numbers.size()) {
      return {0, k};
    }
    rest_.clear();
    std::size_t position = k;  // rank of the wanted magnitude among the ones with all digits so far
    std::uint32_t prefix = 0;
    counts_.fill(0);
    for (float const x : numbers) {
      ++counts_[magnitude(x) >> 20];
    }
    prefix = digit(position) << 20;
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
      prefix |= digit(position) << shift;
      std::erase_if(rest_, [&](std::uint32_t m) { return (m >> shift) != (prefix >> shift); });
    }
    return {prefix, position};
  }

 private:
  static constexpr double initial_share = 0.25;

  /// The digit of the `position`-th largest magnitude; `position` becomes its rank among the magnitudes with that
  /// digit.
  [[nodiscard]] std::uint32_t digit(std::size_t& position) const noexcept {
    std::size_t at = counts_.size() - 1;
    while (counts_[at] < position) {
      position -= counts_[at--];
    }
    return static_cast<std::uint32_t>(at);
  }

  double keep_;
  std::size_t warm_up_;
  std::array<std::size_t, 2048> counts_{};
  std::vector<std::uint32_t> rest_;
};

/// Selects all elements of magnitude `least` or more, in any number, and NaN (Strom, "Scalable distributed DNN
/// training using commodity GPU cloud computing", Interspeech 2015).
class threshold {
 public:
  static constexpr bool sends_equal_counts = false;  ///< false: ranks may send different numbers of elements

  /// @pre least > 0
  explicit threshold(float least) : at_(magnitude(least)) {
    expects(least > 0, "threshold: the least magnitude that is sent must be above 0, not ", least);
  }

  /// Selects all elements from the threshold up.
  [[nodiscard]] magnitude_cut choose(std::span<float const> numbers, std::size_t) const noexcept {
    return {at_, numbers.size()};
  }

 private:
  std::uint32_t at_;
};

}  // namespace tutti::nn
