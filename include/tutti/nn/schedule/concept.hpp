// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>

namespace tutti::nn {

/// Where a training is, before a step. Steps and epochs count from 0.
struct moment {
  std::size_t step = 0;
  std::size_t steps = 1;  ///< of the whole training
  double epoch = 0;       ///< epochs that are over, and the share of the current one that is

  /// 0 at the first step, 1 at the last one.
  [[nodiscard]] float way() const noexcept {
    return steps > 1 ? static_cast<float>(step) / static_cast<float>(steps - 1) : 0.0F;
  }
};

/// The learning rate as a function of time. Every rank asks at the same moments, and is to be told the
/// same rates, in bits.
template <class S>
concept schedule = requires(S const& s, moment const& now) {
  { s.rate(now) } -> std::same_as<float>;
};

}  // namespace tutti::nn
