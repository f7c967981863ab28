// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/element.hpp>
#include <tutti/core/types.hpp>

#include <concepts>
#include <limits>
#include <type_traits>

namespace tutti {

/// What the arithmetic reductions work on.
template <class T>
concept number =
    element<T> && ((std::integral<T> && !std::same_as<T, bool>) || std::same_as<T, float> || std::same_as<T, double>);

/// One bit pattern for all NaNs. Which NaN an addition of two gives depends on their order, so without
/// this ranks that combine in different orders would hold different bits.
template <number T>
[[nodiscard]] constexpr T canonical(T x) noexcept {
  if constexpr (std::floating_point<T>) {
    return x != x ? std::numeric_limits<T>::quiet_NaN() : x;
  } else {
    return x;
  }
}

/// What the reductions of numbers share: accumulators are elements, order makes no difference once
/// NaNs are canonical.
template <number T>
struct of_numbers {
  using value_type = T;
  using accumulator_type = T;
  static constexpr bool commutative = true;
  static constexpr bool symmetric = true;
  static constexpr bool lifts = false;
  static constexpr bool lowers = std::floating_point<T>;

  [[nodiscard]] static constexpr T lift(T x) noexcept { return x; }
  [[nodiscard]] static constexpr T lower(T a, rank_type) noexcept { return canonical(a); }
};

}  // namespace tutti
