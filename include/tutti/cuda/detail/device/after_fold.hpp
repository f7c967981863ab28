// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/combine.hpp>
#include <tutti/detail/core/product.hpp>

namespace tutti::inline v0_1_0::detail::device {

// Functions applied to a combined element in the same pass, while it is in registers. `Fold` combines the
// contributions of all ranks to an element, like fold_of_all.

/// Multiplies the combined element: a sum by 1 / n, for example.
template <class Fold, class T>
struct scaled_fold {
  Fold fold;
  T factor;

  template <class... X>
  constexpr T operator()(X const&... x) const {
    return product(static_cast<T>(fold(x...)), factor);
  }
};

/// Converts the combined element to another type.
template <class Fold, class To>
struct converted_fold {
  Fold fold;

  template <class... X>
  constexpr To operator()(X const&... x) const {
    return static_cast<To>(fold(x...));
  }
};

/// An SGD step with the combined element as gradient: v = momentum v + g, w = w - rate v, each operation rounded
/// separately. Takes w, v and the contributions; returns the new w and v.
template <class Fold, class T>
struct sgd_step {
  Fold fold;
  T rate;
  T momentum;

  template <class... X>
  constexpr result_pair<T> operator()(T w, T v, X const&... x) const {
    T const velocity = product(momentum, v) + static_cast<T>(fold(x...));
    return {w - product(rate, velocity), velocity};
  }
};

}  // namespace tutti::detail::device
