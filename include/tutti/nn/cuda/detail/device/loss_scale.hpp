// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <algorithm>
#include <cstddef>

namespace tutti::inline v0_1_0::nn::detail::device {

/// By what a loss is multiplied so that its derivatives are neither too small for half nor too large: a power of two,
/// which is halved when one was too large, and doubled when none has been for many steps. (Micikevicius et al., "Mixed
/// precision training", ICLR 2018)
class loss_scale {
 public:
  static constexpr std::size_t steps_to_grow = 2000;

  [[nodiscard]] float value() const noexcept { return value_; }
  /// @returns whether a smaller one is to be tried
  [[nodiscard]] bool halve() noexcept {
    good_ = 0;
    if (value_ <= 1) {
      return false;
    }
    value_ /= 2;
    return true;
  }
  void good_step() noexcept {
    if (++good_ == steps_to_grow) {
      good_ = 0;
      value_ = (std::min)(value_ * 2, most);
    }
  }

 private:
  static constexpr float most = 16777216;

  float value_ = 65536;
  std::size_t good_ = 0;  // steps since the last change
};

}  // namespace tutti::nn::detail::device
