// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <algorithm>
#include <cstddef>

namespace tutti::inline v0_1_0::nn::detail::device {

/// The factor of a loss, so that its derivatives neither underflow nor overflow in half precision: a power of two that
/// is halved after an overflow, and doubled after many steps without one. (Micikevicius et al., "Mixed precision
/// training", ICLR 2018)
class loss_scale {
 public:
  static constexpr std::size_t steps_to_grow = 2000;

  [[nodiscard]] float value() const noexcept { return value_; }
  /// @returns true if a smaller scale is to be tried
  [[nodiscard]] bool halve() noexcept {
    good_steps_ = 0;
    if (value_ <= 1) {
      return false;
    }
    value_ /= 2;
    return true;
  }
  void count_good_step() noexcept {
    if (++good_steps_ == steps_to_grow) {
      good_steps_ = 0;
      value_ = (std::min)(value_ * 2, maximum);
    }
  }

 private:
  static constexpr float maximum = 16777216;

  float value_ = 65536;
  std::size_t good_steps_ = 0;  // steps since the last change or overflow
};

}  // namespace tutti::nn::detail::device
