// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline numbers {

/// Sums gradient buffers that are computed one after another in one place, so that a large batch can be computed in
/// pieces.
class accumulator {
 public:
  /// @param numbers size of the buffer; 0 if there is only one piece
  explicit accumulator(std::size_t numbers) : sum_(numbers) {}

  void clear() noexcept { empty_ = true; }

  /// Adds the buffer to the sum. Cost: one pass, no allocation.
  void add(std::span<float const> message) {
    expects(message.size() == sum_.size(), "accumulator: made for messages of ", sum_.size(), " numbers, not of ",
            message.size());
    if (std::exchange(empty_, false)) {
      std::ranges::copy(message, sum_.begin());
      return;
    }
    for (std::size_t i = 0; i != sum_.size(); ++i) {
      sum_[i] += message[i];
    }
  }

  /// Adds the sum to the part of the last buffer that begins at element `first`.
  void add_to(std::span<float> part, std::size_t first) const {
    if (empty_) {
      return;
    }
    expects(first <= sum_.size() && part.size() <= sum_.size() - first, "accumulator: numbers ", first, " to ",
            first + part.size(), " are not part of a message of ", sum_.size());
    for (std::size_t i = 0; i != part.size(); ++i) {
      part[i] += sum_[first + i];
    }
  }

 private:
  std::vector<float> sum_;
  bool empty_ = true;
};

}  // namespace tutti::nn::detail::numbers
