// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace tutti::nn {

/// Epochs at whose beginning something changes by a factor: the learning rate shrinks, or the batch grows.
struct milestones {
  std::vector<std::size_t> epochs;
  double factor = 10;

  /// The factor to the power of how many milestones were reached. No power function, whose last bit is
  /// the library's choice.
  [[nodiscard]] double scale(double epoch) const noexcept {
    double result = 1;
    for (std::size_t const one : epochs) {
      result *= epoch >= static_cast<double>(one) ? factor : 1.0;
    }
    return result;
  }
};

}  // namespace tutti::nn
