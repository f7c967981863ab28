// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace bench {

/// Vectors of known elements: periodic, of small whole numbers, so that sums are exact in any order. They differ
/// between ranks and turns, so that a stale result is wrong. Writing and checking are memcpy and memcmp.
class pattern {
 public:
  static constexpr std::size_t period = 2048;  // two of them stay in the first-level cache

  /// The vector of one rank.
  explicit pattern(unsigned rank) : pattern(rank, rank + 1) {}

  /// The sum of the vectors of ranks `first` to `end` - 1.
  static pattern sum(unsigned first, unsigned end) { return pattern(first, end); }

  void write(std::span<float> v, std::size_t turn) const noexcept {
    float const* const source = at(turn);
    for (std::size_t i = 0; i < v.size(); i += period) {
      std::memcpy(v.data() + i, source, std::min(period, v.size() - i) * sizeof(float));
    }
  }

  /// True if `v` holds the elements of a vector from element `begin` on.
  [[nodiscard]] bool equals(std::span<float const> v, std::size_t turn, std::size_t begin = 0) const noexcept {
    float const* const expected = at(turn, begin);
    for (std::size_t i = 0; i < v.size(); i += period) {
      if (std::memcmp(v.data() + i, expected, std::min(period, v.size() - i) * sizeof(float)) != 0) {
        return false;
      }
    }
    return true;
  }

 private:
  pattern(unsigned first, unsigned last) : table_(2 * period) {
    for (std::size_t i = 0; i < table_.size(); ++i) {
      for (unsigned r = first; r < last; ++r) {
        table_[i] += static_cast<float>((i % period * 7 + r * 13) % 31 + 1);
      }
    }
  }
  [[nodiscard]] float const* at(std::size_t turn, std::size_t begin = 0) const noexcept {
    return table_.data() + (turn * 17 + begin) % period;
  }

  std::vector<float> table_;
};

}  // namespace bench
