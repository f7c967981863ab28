// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/exponential.hpp>
#include <tutti/nn/layer/concept.hpp>

namespace tutti::nn {

/// 1 / (1 + e^-x).
struct sigmoid {
  /// Its slope at 0 is 1/4, so that weights four times as large keep the spread of a signal.
  static constexpr double gain = 4.0;

  template <class T>
  [[nodiscard]] static T value(T sum) noexcept {
    return T{1} / (T{1} + exponential(-sum));
  }
  template <class T>
  [[nodiscard]] static constexpr T slope(T value) noexcept {
    return value * (T{1} - value);
  }
};

static_assert(activation<sigmoid, float>);

}  // namespace tutti::nn
