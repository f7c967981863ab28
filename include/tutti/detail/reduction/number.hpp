// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/element.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <limits>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::inline reduction {

/// A floating-point format for storage, such as half and bfloat16. It names the type to compute in, `computed_in`,
/// converts to it implicitly and is constructed from it.
template <class T>
concept narrow_number =
    element<T> && std::floating_point<typename T::computed_in> && std::convertible_to<T, typename T::computed_in> &&
    std::constructible_from<T, typename T::computed_in>;

/// A number that is computed in its own type.
template <class T>
concept native_number =
    element<T> && ((integer<T> && !std::same_as<T, bool>) || std::same_as<T, float> || std::same_as<T, double>);

/// An element of the arithmetic reductions.
template <class T>
concept number = native_number<T> || narrow_number<T>;

/// A floating-point number, native or narrow.
template <class T>
concept floating_number = narrow_number<T> || (native_number<T> && std::floating_point<T>);

// Reasons for which reductions of numbers refuse a type.
template <class T>
inline constexpr bool is_plain = std::same_as<T, std::remove_cvref_t<T>>;
template <class T>
inline constexpr bool is_compilers_own =
    std::is_object_v<T> && is_plain<T> && sizeof(T) == 2 && !integer<T> && !std::is_class_v<T> && !std::is_enum_v<T> &&
    requires(T x) { static_cast<float>(x); };

/// Refuses T as the element type of a reduction: its sentence is the first error of the compiler. In a
/// requires-expression it is a hard error, too; use concepts such as `field_number` there.
template <class T, bool NeedsOrder = false, bool NeedsDivision = false>
[[nodiscard]] consteval bool refuse_number() {
  if constexpr (!is_plain<T>) {
    static_assert(is_plain<T>, "the element type of a reduction is named without const, volatile and &");
  } else if constexpr (std::same_as<T, bool>) {
    static_assert(!std::same_as<T, bool>,
                  "bool is no number here: take tutti::logical_and, logical_or or logical_xor, or an integer to count");
  } else if constexpr (std::same_as<T, long double>) {
    static_assert(!std::same_as<T, long double>,
                  "long double has another format on other processors: take double, or "
                  "tutti::reduce_with<long double>(function)");
  } else if constexpr (is_compilers_own<T>) {
    static_assert(!is_compilers_own<T>,
                  "the compiler's own types of 16 bits are none of tutti's: take tutti::half for _Float16 and "
                  "tutti::bfloat16 for __bf16, which have the same bits");
  } else if constexpr (NeedsOrder && complex_number<T>) {
    static_assert(!NeedsOrder, "complex numbers have no order: reduce their absolute values");
  } else if constexpr (NeedsDivision && (integer<T> || complex_number<T>)) {
    static_assert(!NeedsDivision, "tutti::mean is of floating-point numbers: take tutti::sum, and divide its result");
  } else {
    static_assert(
        number<T>,
        "this type is no number that tutti knows: take tutti::reduce_with<type>(function), with a function of "
        "two elements");
  }
  return false;
}

// The element types of sum and prod, of min and max, and of mean.
template <class T>
concept summand = number<T> || complex_number<T> || refuse_number<T>();
template <class T>
concept comparable = number<T> || refuse_number<T, true>();
template <class T>
concept averageable = floating_number<T> || refuse_number<T, false, true>();

/// Replaces every NaN by one bit pattern. The sum of two NaNs depends on their order, so ranks that combine in
/// different orders would otherwise hold different bits.
template <native_number T>
[[nodiscard]] constexpr T canonical(T x) noexcept {
  if constexpr (std::floating_point<T>) {
    return x != x ? std::numeric_limits<T>::quiet_NaN() : x;
  } else {
    return x;
  }
}

/// The members that the reductions of numbers share. Accumulators are elements, and they commute once NaNs are
/// canonical.
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

}  // namespace tutti::detail::reduction
