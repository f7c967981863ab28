// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/complex.hpp>
#include <tutti/detail/reduction/number.hpp>
#include <tutti/detail/reduction/rounded.hpp>
#include <tutti/extend/half.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/reduction.hpp>
#include <tutti/reduction/number_concepts.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace tutti::inline v0_1_0 {

namespace detail {

/// The type in which integers are added and multiplied: unsigned, so that they wrap, and at least as wide as
/// `unsigned`, because narrower types would be promoted to int, which overflows.
template <integer T>
using wrapping_t = std::common_type_t<unsigned_of<T>, unsigned>;

template <std::floating_point T>
using bits_t = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// The smaller operand; -0 < +0, and NaN if either is NaN. The two selections differ only for zeros of different sign,
/// where `or` keeps the sign, and for NaN, where `or` of any bits with a NaN is a NaN.
template <native_number T>
[[nodiscard]] constexpr T smaller(T a, T b) noexcept {
  if constexpr (std::floating_point<T>) {
    return std::bit_cast<T>(std::bit_cast<bits_t<T>>(a < b ? a : b) | std::bit_cast<bits_t<T>>(b < a ? b : a));
  } else {
    return a < b ? a : b;
  }
}

/// The sum a + b, rounded once. GPUs have an instruction for halves.
template <narrow_number T>
[[nodiscard]] constexpr T rounded_sum(T a, T b) noexcept {
#if defined(__CUDA_ARCH__)
  if constexpr (std::same_as<T, half>) {
    if (!std::is_constant_evaluated()) {
      std::uint16_t bits;
      asm("add.rn.f16 %0, %1, %2;" : "=h"(bits) : "h"(a.bits()), "h"(b.bits()));
      return half::from_bits(bits);
    }
  }
#endif
  using wide = typename T::computed_in;
  return T(static_cast<wide>(a) + static_cast<wide>(b));
}

/// Makes a missing element type the first error of the compiler.
template <class Missing>
struct missing_type {
  static_assert(!std::is_void_v<Missing>, "name the type of the elements, as in tutti::sum<float>{}");
  using type = int;
};
template <class Missing>
using missing_type_t = typename missing_type<Missing>::type;

}  // namespace detail

/// Addition.
///
/// Elements: integers of 8 to 128 bits, which wrap; floating-point, half, bfloat16 and complex numbers.
/// Bits: for integers, one result. Floating-point addition is not associative: the bits depend on the schedule and the
/// number of ranks, and are equal on every rank.
/// Cost: an element travels as itself; half and bfloat16 are rounded after each combination.
template <detail::summand T>
struct sum : detail::of_numbers<T> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "sum";
  /// True if (a * b) * c is a * (b * c), bit by bit; declared, not guessed.
  static constexpr bool associative = detail::integer<T>;
  /// The operation on accumulators that a device in the network is asked for instead of `combine`.
  static constexpr network_operation in_network =
      std::same_as<T, float> ? network_operation::sum_float32 : network_operation::none;

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr T identity() noexcept {
    return std::floating_point<T> ? -T{} : T{};  // -0 + +0 is +0
  }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept {
    if constexpr (detail::integer<T>) {
      using wide = detail::wrapping_t<T>;
      return static_cast<T>(static_cast<wide>(a) + static_cast<wide>(b));
    } else {
      return a + b;
    }
  }
};

/// Multiplication.
///
/// Elements: those of sum; integers wrap.
/// Bits: see sum.
/// Cost: that of sum.
template <detail::summand T>
struct prod : detail::of_numbers<T> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "prod";
  /// True if (a * b) * c is a * (b * c), bit by bit; declared, not guessed.
  static constexpr bool associative = detail::integer<T>;

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr T identity() noexcept { return T{1}; }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept {
    if constexpr (detail::integer<T>) {
      using wide = detail::wrapping_t<T>;
      return static_cast<T>(static_cast<wide>(a) * static_cast<wide>(b));
    } else {
      return a * b;
    }
  }
};

/// The smallest contribution; -0 < +0, NaN if any is NaN.
///
/// Elements: integers, floating-point numbers, half and bfloat16.
/// Bits: one result, over every schedule.
/// Cost: an element travels as itself.
template <detail::comparable T>
struct min : detail::of_numbers<T> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "min";
  /// True if (a * b) * c is a * (b * c), bit by bit; declared, not guessed.
  static constexpr bool associative = true;

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr T identity() noexcept {
    if constexpr (std::floating_point<T>) {
      return std::numeric_limits<T>::infinity();
    } else {
      return detail::largest_integer<T>;
    }
  }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept { return detail::smaller(a, b); }
};

/// The largest contribution; -0 < +0, NaN if any is NaN.
///
/// Elements: integers, floating-point numbers, half and bfloat16.
/// Bits: one result, over every schedule.
/// Cost: an element travels as itself.
template <detail::comparable T>
struct max : detail::of_numbers<T> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "max";
  /// True if (a * b) * c is a * (b * c), bit by bit; declared, not guessed.
  static constexpr bool associative = true;
  /// The operation on accumulators that a device in the network is asked for instead of `combine`.
  static constexpr network_operation in_network =
      std::same_as<T, float> ? network_operation::max_float32 : network_operation::none;

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr T identity() noexcept {
    if constexpr (std::floating_point<T>) {
      return -std::numeric_limits<T>::infinity();
    } else {
      return detail::smallest_integer<T>;
    }
  }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept {
    if constexpr (std::floating_point<T>) {
      return -detail::smaller(-a, -b);
    } else {
      return a < b ? b : a;
    }
  }
};

/// The sum divided by the number of contributions: the number of ranks, except in scan and exscan.
///
/// Elements: floating-point numbers, half and bfloat16. A sum of integers may wrap, so its mean may be wrong: add
/// integers in a type that is wide enough, and divide the sum.
/// Bits: see sum.
/// Cost: that of sum, and a division for each element of the result.
template <detail::averageable T>
struct mean : detail::of_numbers<T> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "mean";
  /// True if (a * b) * c is a * (b * c), bit by bit; declared, not guessed.
  static constexpr bool associative = false;
  /// True if `lower` only makes NaNs canonical.
  static constexpr bool lowers_nan_only = false;
  /// The operation on accumulators that a device in the network is asked for instead of `combine`.
  static constexpr network_operation in_network = sum<T>::in_network;

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr T identity() noexcept { return sum<T>::identity(); }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept { return a + b; }
  /// Makes an element of the result of the accumulator of all n ranks' contributions.
  [[nodiscard]] static constexpr T lower(T a, rank_type n) noexcept { return detail::canonical(a / static_cast<T>(n)); }
};

// min and max have no deduction guide, because another library may define macros of these names.
template <class Missing = void>
sum() -> sum<detail::missing_type_t<Missing>>;
template <class Missing = void>
prod() -> prod<detail::missing_type_t<Missing>>;
template <class Missing = void>
mean() -> mean<detail::missing_type_t<Missing>>;

// half and bfloat16 are combined in float and rounded after each combination, so two bytes travel.

/// Addition of half or bfloat16.
template <detail::narrow_number T>
struct sum<T> : detail::rounding_reduction<T, sum<typename T::computed_in>> {
  /// Combines two accumulators, rounded once.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept { return detail::rounded_sum(a, b); }
};
template <detail::narrow_number T>
struct prod<T> : detail::rounding_reduction<T, prod<typename T::computed_in>> {};
template <detail::narrow_number T>
struct min<T> : detail::rounding_reduction<T, min<typename T::computed_in>> {};
template <detail::narrow_number T>
struct max<T> : detail::rounding_reduction<T, max<typename T::computed_in>> {};
/// The mean of half or bfloat16.
template <detail::narrow_number T>
struct mean<T> : detail::rounding_reduction<T, mean<typename T::computed_in>> {
  /// Combines two accumulators, rounded once.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept { return detail::rounded_sum(a, b); }
};

// Complex numbers, such as std::complex<float>, are added by parts and multiplied by the textbook formula.

/// Addition of complex numbers.
template <complex_number T>
struct sum<T> : detail::complex_sum<T> {};
template <complex_number T>
struct prod<T> : detail::complex_prod<T> {};

}  // namespace tutti

#ifdef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/instances/arithmetic.hpp>
#endif
