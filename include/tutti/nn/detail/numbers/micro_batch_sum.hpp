// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline numbers {

/// Sums the gradient buffers of the micro-batches of a batch, which are computed one after another in one memory.
class micro_batch_sum {
 public:
  /// @param numbers size of the buffer; 0 if there is only one micro-batch
  explicit micro_batch_sum(std::size_t numbers) : sum_(numbers) {}

  void clear() noexcept { empty_ = true; }

  /// Adds the buffer to the sum. Cost: one pass, no allocation.
  void add(std::span<float const> buffer) {
    expects(buffer.size() == sum_.size(), "micro_batch_sum: made for gradient buffers of ", sum_.size(),
            " numbers, not of ", buffer.size());
    if (std::exchange(empty_, false)) {
      std::ranges::copy(buffer, sum_.begin());
      return;
    }
    for (std::size_t i = 0; i != sum_.size(); ++i) {
      sum_[i] += buffer[i];
    }
  }

  /// Adds the sum to the part of the last buffer that begins at element `first`.
  void add_to(std::span<float> part, std::size_t first) const {
    if (empty_) {
      return;
    }
    expects(first <= sum_.size() && part.size() <= sum_.size() - first, "micro_batch_sum: numbers ", first, " to ",
            first + part.size(), " are not part of a gradient buffer of ", sum_.size());
    for (std::size_t i = 0; i != part.size(); ++i) {
      part[i] += sum_[first + i];
    }
  }

 private:
  std::vector<float> sum_;
  bool empty_ = true;
};

}  // namespace tutti::nn::detail::numbers
