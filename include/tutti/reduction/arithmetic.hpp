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

/// Integers are added and multiplied in this type, so that they wrap instead of overflowing - and
/// those narrower than int, too, which would be promoted to int.
template <integer T>
using wrapping_t = std::common_type_t<unsigned_of<T>, unsigned>;

template <std::floating_point T>
using bits_t = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// The smaller one; -0 < +0; NaN if either is. Both selections agree unless the operands are zeros of
/// different sign, where `or` keeps the sign, or unordered, where it makes a NaN of any bits with a NaN.
template <native_number T>
[[nodiscard]] constexpr T smaller(T a, T b) noexcept {
  if constexpr (std::floating_point<T>) {
    return std::bit_cast<T>(std::bit_cast<bits_t<T>>(a < b ? a : b) | std::bit_cast<bits_t<T>>(b < a ? b : a));
  } else {
    return a < b ? a : b;
  }
}

/// a + b, rounded once. A GPU has an instruction for halves.
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

/// Stands for the type of the elements, if none is named: the compiler's first error says so.
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
/// Bits: of integers, one result. Floating point is not associative: its bits depend on the schedule and the number
/// of ranks, and are the same on every rank.
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
/// Elements: as of sum; integers wrap.
/// Bits: as of sum.
/// Cost: as of sum.
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

/// The smallest; -0 < +0, NaN if any is NaN.
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

/// The largest; -0 < +0, NaN if any is NaN.
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

/// The sum divided by the number of ranks.
///
/// Elements: floating-point numbers, half and bfloat16. The sum of integers may wrap and its quotient be wrong; sum
/// them in a type that is wide enough and divide as you see fit.
/// Bits: as of sum.
/// Cost: as of sum, and a division for each element of the result.
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

// A macro of another library may be called min or max, so these two have no guide.
template <class Missing = void>
sum() -> sum<detail::missing_type_t<Missing>>;
template <class Missing = void>
prod() -> prod<detail::missing_type_t<Missing>>;
template <class Missing = void>
mean() -> mean<detail::missing_type_t<Missing>>;

// Numbers of half and bfloat16 are computed in float, and rounded after each combination, so that two bytes travel.

/// Addition of half or bfloat16.
template <detail::narrow_number T>
struct sum<T> : detail::rounded<T, sum<typename T::computed_in>> {
  /// Combines two accumulators, rounded once.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept { return detail::rounded_sum(a, b); }
};
template <detail::narrow_number T>
struct prod<T> : detail::rounded<T, prod<typename T::computed_in>> {};
template <detail::narrow_number T>
struct min<T> : detail::rounded<T, min<typename T::computed_in>> {};
template <detail::narrow_number T>
struct max<T> : detail::rounded<T, max<typename T::computed_in>> {};
/// The mean of half or bfloat16.
template <detail::narrow_number T>
struct mean<T> : detail::rounded<T, mean<typename T::computed_in>> {
  /// Combines two accumulators, rounded once.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept { return detail::rounded_sum(a, b); }
};

// Complex numbers, such as std::complex<float>, are added part by part, and multiplied by the formula of the schools.

/// Addition of complex numbers.
template <complex_number T>
struct sum<T> : detail::complex_sum<T> {};
template <complex_number T>
struct prod<T> : detail::complex_prod<T> {};

}  // namespace tutti

#ifdef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/instances/arithmetic.hpp>
#endif
