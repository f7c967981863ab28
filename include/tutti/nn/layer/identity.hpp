// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/layer/concept.hpp>

namespace tutti::nn {

/// No activation: the last layer of a classifier, whose loss takes the sums themselves.
struct identity {
  static constexpr double gain = 1.0;

  template <class T>
  [[nodiscard]] static constexpr T value(T sum) noexcept {
    return sum;
  }
  template <class T>
  [[nodiscard]] static constexpr T slope(T) noexcept {
    return T{1};
  }
};

static_assert(activation<identity, float>);

}  // namespace tutti::nn
