// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/element.hpp>
#include <tutti/types.hpp>

#include <concepts>
#include <limits>
#include <type_traits>

namespace tutti::inline v0_1_0::detail {

/// A floating-point format that numbers are stored in but not computed with, such as half and bfloat16: it
/// names the type to compute in (`computed_in`), which it converts to by itself, and from which it is made.
template <class T>
concept narrow_number =
    element<T> && std::floating_point<typename T::computed_in> && std::convertible_to<T, typename T::computed_in> &&
    std::constructible_from<T, typename T::computed_in>;

/// Numbers that are computed with as they are.
template <class T>
concept native_number =
    element<T> && ((integer<T> && !std::same_as<T, bool>) || std::same_as<T, float> || std::same_as<T, double>);

/// What the arithmetic reductions work on.
template <class T>
concept number = native_number<T> || narrow_number<T>;

/// Those of them that have a point.
template <class T>
concept floating_number = narrow_number<T> || (native_number<T> && std::floating_point<T>);

/// One bit pattern for all NaNs. Which NaN an addition of two gives depends on their order, so without
/// this ranks that combine in different orders would hold different bits.
template <native_number T>
[[nodiscard]] constexpr T canonical(T x) noexcept {
  if constexpr (std::floating_point<T>) {
    return x != x ? std::numeric_limits<T>::quiet_NaN() : x;
  } else {
    return x;
  }
}

/// What the reductions of numbers share: accumulators are elements, order makes no difference once
/// NaNs are canonical.
template <native_number T>
struct of_numbers {
  using value_type = T;
  using accumulator_type = T;
  static constexpr bool commutative = true;
  static constexpr bool symmetric = true;
  static constexpr bool lifts = false;
  static constexpr bool lowers = std::floating_point<T>;
  static constexpr bool fuses = false;
  static constexpr bool lowers_nan_only = true;

  [[nodiscard]] static constexpr T lift(T x) noexcept { return x; }
  [[nodiscard]] static constexpr T lower(T a, rank_type) noexcept { return canonical(a); }
};

}  // namespace tutti::detail
