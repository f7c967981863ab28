// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

namespace tutti::inline v0_1_0 {

/// A sum of floating-point numbers in a form whose addition is exactly associative and commutative: the accumulator
/// that the ranks of a reproducible_sum exchange. 16 bytes, for sums of float and of double.
///
/// Integers replace floating-point numbers, cut at fixed places. The exponents of double are divided into bins of 27
/// bits, equal on all ranks. The tier of a number is the bin of its leading bit. The number is cut into three slices,
/// multiples of the lowest bit of that bin and of the next two bins: each is rounded to nearest, and the rest is
/// dropped. Slices depend on the number alone.
///
/// The accumulator of a set S of numbers is the highest tier in S, and, for its bin and the next two, the sum over S
/// of the slices in that bin. A bin has a field of 40 bits and nothing is ever carried from one into another, so
/// dropping the low bins of a sum, as a higher tier demands, equals summing without them. Hence accumulator(S + T) is
/// a function of accumulator(S) and accumulator(T), equal for all orders and groupings. That is the whole proof. It
/// needs fields that do not overflow: a slice is at most 2^26 in size, so up to `limit` numbers fit.
///
/// Other values have tiers of their own. Zeros are below all bins, and drop out if any other value is added;
/// infinities and NaN are above all, and make all else drop out. So a sum is -0 only if all numbers are -0, NaN if
/// there is a NaN or there are infinities of both signs, and infinite if there is one, or if the sum itself is too
/// large.
///
/// Error: numbers of a tier have at least 53 bits before the last bin ends, so each number is rounded by at most 2^-54
/// of the largest number in S, and n of them by at most n - 1 times that. The bound of a sum in double is at least
/// twice as large: n - 1 times 2^-53 of the sum of all sizes. A sum that is exact in double in every order loses
/// nothing. Rounding the sum itself to float or double comes on top: for double, the sum of just two numbers may be
/// worse than the processor's by a quarter of a unit in the last place.
///
/// Source: J. Demmel, H. D. Nguyen, "Parallel Reproducible Summation", IEEE Transactions on Computers 64 (2015), and
/// P. Ahrens, J. Demmel, H. D. Nguyen, "Algorithms for Efficient Reproducible Floating Point Summation", ACM TOMS 46
/// (2020): bins at fixed places; the highest few are kept. There a bin is two floating-point numbers; here it
/// is a field of an integer, as in superaccumulators (S. Collange, D. Defour, S. Graillat, R. Iakymchuk, "Numerical
/// reproducibility for the parallel reduction on multi- and many-core architectures", Parallel Computing 49 (2015); R.
/// M. Neal, "Fast exact summation using small and large superaccumulators", 2015). Those keep all bins, in 40 bytes
/// for float and 270 for double, which is too long for messages.
struct binned_sum {
  /// The capacity of an accumulator in numbers. Beyond it fields overflow into each other, unnoticed: operators refuse
  /// more ranks, and replicas more micro-batches.
  static constexpr std::uint32_t limit = (1U << 13) - 1;
  /// The name of this element type in errors, traces and the fingerprint of a call.
  static constexpr std::string_view element_name = "binned_sum";

  // The three fields are one 120-bit integer in two's complement: top * 2^80 + middle * 2^40 + last.
  std::uint64_t low = 0;   ///< the lower 63 bits: a sum of two has room for a carry
  std::uint64_t high = 0;  ///< the upper 57 bits, and 7 bits of tier

  friend constexpr bool operator==(binned_sum const&, binned_sum const&) = default;
};

/// The element types of a reproducible_sum: numbers, or accumulators of numbers that were added elsewhere.
template <class T>
concept reproducible = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, binned_sum>;

namespace detail {

inline constexpr int bin_bits = 27;
inline constexpr std::uint64_t tier_of_zeros = 0;
inline constexpr std::uint64_t lowest_tier = 3;  // zeros drop out
inline constexpr std::uint64_t tier_of_infinities = 127;

inline constexpr std::uint64_t tier_mask = 127;
inline constexpr std::uint64_t low_mask = (std::uint64_t{1} << 63) - 1;
inline constexpr std::uint64_t field_mask = (std::uint64_t{1} << 40) - 1;
inline constexpr std::uint64_t half_field = std::uint64_t{1} << 39;
inline constexpr std::uint64_t bin_mask = (std::uint64_t{1} << bin_bits) - 1;

// The value one in each field.
inline constexpr binned_sum one_in_last{1, 0};
inline constexpr binned_sum one_in_middle{std::uint64_t{1} << 40, 0};
inline constexpr binned_sum one_in_top{0, std::uint64_t{1} << 24};

[[nodiscard]] constexpr std::uint64_t tier(binned_sum const& a) noexcept {
  return a.high & tier_mask;
}

/// Arithmetic shift of a number in two's complement.
[[nodiscard]] constexpr std::uint64_t shift_signed(std::uint64_t x, int distance) noexcept {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(x) >> distance);
}

/// An accumulator without its tier, shifted to the next tier: the last field is dropped, not rounded.
[[nodiscard]] constexpr binned_sum raised_by_one(binned_sum const& a) noexcept {
  std::uint64_t const sum =
      a.low + half_field;  // fields are signed, so the last one may have borrowed from the one before
  std::uint64_t const high = a.high + (sum >> 63 << 7);
  return {((sum & low_mask) >> 40) | ((high << 16) & low_mask), shift_signed(high, 40) & ~tier_mask};
}

}  // namespace detail

/// The accumulator of the numbers of both.
/// @pre these are at most binned_sum::limit numbers
[[nodiscard]] constexpr binned_sum combine(binned_sum const& a, binned_sum const& b) noexcept {
  using namespace detail;
  bool const a_below = tier(a) < tier(b);
  binned_sum const upper{a_below ? b.low : a.low, a_below ? b.high : a.high};
  binned_sum const lower{a_below ? a.low : b.low, a_below ? a.high : b.high};
  std::uint64_t const distance = tier(upper) - tier(lower);
  binned_sum const lower_value{lower.low, lower.high & ~tier_mask};
  binned_sum const shifted_once = raised_by_one(lower_value);
  binned_sum const shifted_twice = raised_by_one(shifted_once);
  std::uint64_t const low = distance == 0   ? lower_value.low
                            : distance == 1 ? shifted_once.low
                            : distance == 2 ? shifted_twice.low
                                            : 0;
  std::uint64_t const high = distance == 0   ? lower_value.high
                             : distance == 1 ? shifted_once.high
                             : distance == 2 ? shifted_twice.high
                                             : 0;
  std::uint64_t const sum = upper.low + low;
  return {sum & low_mask, upper.high + high + (sum >> 63 << 7)};
}

}  // namespace tutti
