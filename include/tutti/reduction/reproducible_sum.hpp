// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/binned_block.hpp>
#include <tutti/detail/reduction/block_fold.hpp>
#include <tutti/detail/reduction/fold.hpp>
#include <tutti/extend/binned_sum.hpp>
#include <tutti/extend/buffer.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/reduction.hpp>
#include <tutti/extend/types.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tutti::inline v0_1_0 {

namespace detail {

/// The integer x or -x. @param sign all bits set for -x, 0 for x
template <std::unsigned_integral U>
[[nodiscard]] constexpr U negated_if(U sign, U x) noexcept {
  return (x ^ sign) - sign;
}

/// A condition as a mask of 64 bits (compilers.md: Masks instead of branches).
[[nodiscard]] constexpr std::uint64_t mask_if(bool condition) noexcept {
  return 0 - static_cast<std::uint64_t>(condition);
}

/// Extends the sign of a 32-bit word.
[[nodiscard]] constexpr std::uint64_t sign_extended(std::uint32_t x) noexcept {
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(x)});
}

// Lifting and lowering have no branches (compilers.md: Masks instead of branches). Floats are lifted in 32-bit words as
// far as possible. Subnormals are in the tier of the smallest normal number. Slices are rounded by absolute value, so
// the slices of -x are those of x with the sign inverted.

// The middle field has 23 bits in the low word, and the others in the high word.
inline constexpr std::uint32_t low_of_middle = 0x7fffff;
inline constexpr std::uint32_t middle_bias = 1U << 26;

/// Makes the accumulator of one number.
[[nodiscard]] constexpr binned_sum to_bins(float x) noexcept {
  auto const bits = std::bit_cast<std::uint32_t>(x);
  std::uint32_t const sign = 0U - (bits >> 31);
  auto const size = static_cast<std::int32_t>(bits & 0x7fffffff);
  std::uint32_t const exponent = bits >> 23 & 0xff;
  // The smallest exponent of float is 897 = 33 * 27 + 6 as one of double. The quotient by 27 is the bin; the remainder
  // says how many bits of the number are in it. A leading bit worth half of the lowest bit of the bin is rounded up.
  std::uint32_t const place = (exponent == 0 ? 1 : exponent) + 5;
  std::uint32_t const bin = place * 19 >> 9;
  std::uint32_t const shift = place - 27 * bin;
  std::uint32_t const digits = (bits & 0x7fffff) | (exponent == 0 ? 0U : 0x800000U);
  std::uint32_t const significand = digits << 3;
  std::uint32_t const top = (significand + (middle_bias >> shift)) >> (27 - shift);
  std::uint32_t const middle = (significand - (top << (27 - shift))) << shift;  // a float has no lower bits
  std::uint32_t const biased_middle = negated_if(sign, middle) + middle_bias;
  std::uint32_t const end = (((biased_middle >> 23) - (middle_bias >> 23)) << 7) + (3 + 33) + bin;

  bool const is_zero = size == 0;
  bool const is_not_finite = size >= 0x7f800000;
  bool const is_nan = size > 0x7f800000;
  std::uint32_t const high = is_nan ? 0U : is_not_finite ? ~sign & 1 : negated_if(sign, top);
  std::uint32_t const tail = is_zero ? 0U : is_not_finite ? static_cast<std::uint32_t>(tier_of_infinities) : end;
  std::uint32_t const low = is_nan ? 0U : is_not_finite ? sign & 0x100 : (biased_middle & low_of_middle) << 8;
  std::uint32_t const last = is_zero ? ~sign & 1 : is_nan ? 1U : 0U;
  return {std::uint64_t{low} << 32 | last, (sign_extended(high) << 24) + sign_extended(tail)};
}

[[nodiscard]] constexpr binned_sum to_bins(double x) noexcept {
  auto const bits = std::bit_cast<std::uint64_t>(x);
  std::uint64_t const sign = 0 - (bits >> 63);
  std::uint64_t const exponent = bits >> 52 & 0x7ff;
  std::uint64_t const fraction = bits & 0xfffffffffffff;
  std::uint64_t const place = exponent == 0 ? 1 : exponent;
  std::uint64_t const bin = place * 2428 >> 16;
  std::uint64_t const shift = place - 27 * bin;
  std::uint64_t const digits = fraction | (exponent == 0 ? 0 : std::uint64_t{1} << 52);
  std::uint64_t const half = (std::uint64_t{1} << 52) >> shift;
  std::uint64_t const top = (digits + half) >> (53 - shift);
  std::uint64_t const rest = digits - (top << (53 - shift));  // from -half to half
  std::uint64_t const middle = ((rest + half + (half >> 27)) >> (26 - shift)) - middle_bias;
  std::uint64_t const last = (rest - (middle << (26 - shift))) << (shift + 1);
  std::uint64_t const biased_middle = negated_if(sign, middle) + middle_bias;
  std::uint64_t const low = ((biased_middle & low_of_middle) << 40) + negated_if(sign, last);  // may be negative
  std::uint64_t const high = (negated_if(sign, top) << 17) + (biased_middle >> 23) - (middle_bias >> 23) - (low >> 63);

  if (exponent == 0x7ff) {
    binned_sum const count = fraction != 0 ? one_in_last : sign != 0 ? one_in_middle : one_in_top;
    return {count.low, count.high | tier_of_infinities};
  }
  if (digits == 0) {
    return sign != 0 ? binned_sum{} : one_in_last;
  }
  return {low & low_mask, high << 7 | (lowest_tier + bin)};
}

/// The sum in the fields of an accumulator, top * 2^54 + rest in units of its last bin, with 0 <= rest < 2^54.
struct two_parts {
  std::uint64_t top;  ///< in two's complement, absolute value at most 2^40
  std::uint64_t rest;
};

[[nodiscard]] constexpr two_parts split_sum(binned_sum const& a) noexcept {
  // A field plus half of its range is not negative, so its bits can be masked.
  std::uint64_t const sum = a.low + half_field;
  std::uint64_t const low = sum & low_mask;
  std::uint64_t const high =
      ((a.high >> 7) + (sum >> 63) + (1U << 16) + (half_field << 17)) & (field_mask << 17 | 0x1ffff);
  std::uint64_t const last = low & field_mask;
  std::uint64_t const middle = (low >> 40 | (high & 0x1ffff) << 23) + (last >> bin_bits) - (half_field >> bin_bits);
  std::uint64_t const top = (high >> 17) + (middle >> bin_bits) - (half_field >> bin_bits) - half_field;
  return {top, (middle & bin_mask) << bin_bits | (last & bin_mask)};
}

/// Converts an integer of absolute value below 2^51 exactly.
[[nodiscard]] constexpr double small_integer(std::uint64_t x) noexcept {
  return std::bit_cast<double>(0x4338000000000000 + x) - 6755399441055744.0;  // 1.5 * 2^52
}

[[nodiscard]] constexpr double power_of_two(std::uint64_t exponent) noexcept {
  return std::bit_cast<double>((exponent + 1023) << 52);
}

/// The exponent (base 2) of the last bit of the last bin, for the tiers of numbers.
[[nodiscard]] constexpr std::uint64_t unit_of(std::uint64_t tier) noexcept {
  return 27 * (tier - lowest_tier) - 1076;
}

/// The bits of a double that is zero, infinite or NaN: such numbers are counted, not added.
struct counted_sum {
  std::uint64_t bits;  ///< the double, or 0 if the sum is an ordinary number
  std::uint64_t mask;  ///< 0, or all bits set if the sum is an ordinary number
};

[[nodiscard]] constexpr counted_sum counted_in(binned_sum const& a) noexcept {
  constexpr auto nan = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
  constexpr auto infinity = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
  constexpr std::uint64_t minus = std::uint64_t{1} << 63;
  std::uint64_t const some_negative = mask_if(((a.low & ~field_mask) | (a.high >> 7 & 0x1ffff)) != 0);
  std::uint64_t const some_positive = mask_if(a.high >> 24 != 0);
  std::uint64_t const some_nan = mask_if((a.low & field_mask) != 0) | (some_negative & some_positive);
  std::uint64_t const infinity_or_nan = infinity | (some_nan & nan) | (some_negative & minus & ~some_nan);
  std::uint64_t const zero = mask_if(a.low == 0) & minus;
  std::uint64_t const is_not_finite = mask_if(tier(a) == tier_of_infinities);
  std::uint64_t const is_zero = mask_if(tier(a) == tier_of_zeros);
  return {(infinity_or_nan & is_not_finite) | (zero & is_zero), ~(is_not_finite | is_zero)};
}

/// Rounds the sum of an accumulator to nearest, ties to even.
[[nodiscard]] constexpr float to_float(binned_sum const& a) noexcept {
  auto const [top, rest] = split_sum(a);
  // Rounds to odd first: keeps 26 to 51 leading bits, and sets the last one if any bit is cut off. These round to float
  // as all bits would (S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using
  // rounding to odd", IEEE Transactions on Computers 57, 2008).
  std::uint64_t const whole = (top << 54) + rest;
  std::uint64_t const medium = (top << 28) + (rest >> 26);
  std::uint64_t const large = (top << 2) + (rest >> 52);
  std::uint64_t const is_large = mask_if((top + (1U << 23)) >> 24 != 0);
  // A medium sum is small if its last 51 bits and a sign represent it.
  std::uint64_t const is_small = mask_if((medium + (1U << 25)) >> 26 == 0) & ~is_large;
  std::uint64_t const is_medium = ~(is_large | is_small);
  std::uint64_t const tail = rest & ((is_medium & 0x3ffffff) | (is_large & 0xfffffffffffff));
  std::uint64_t const leading = (whole & is_small) | (medium & is_medium) | (large & is_large);
  std::uint64_t const shift = (is_medium & 26) | (is_large & 52);
  std::uint64_t const odd = leading | (mask_if(tail != 0) & 1);
  // A sum below the normal range has no more digits than float, so it is rounded once. It is 0 if the sum is counted.
  auto const [bits, mask] = counted_in(a);
  double const sum = small_integer(odd & mask) * power_of_two((unit_of(tier(a)) + shift) & mask);
  return static_cast<float>(std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) | bits));
}

[[nodiscard]] constexpr double to_double(binned_sum const& a) noexcept {
  auto const [top, rest] = split_sum(a);
  // Two exact doubles, whose sum is rounded. A large sum is cut below the bit that decides the rounding.
  std::uint64_t const whole = (top << 54) + rest;
  bool const is_small = (top + 2) >> 2 == 0;
  std::uint64_t const odd = (rest & ~std::uint64_t{1}) | (rest & 1) << 1;
  std::uint64_t const low = is_small ? whole & 0xffffffff : odd & bin_mask;
  double const head = is_small ? small_integer(shift_signed(whole, 32)) * 0x1p32 : small_integer(top) * 0x1p54;
  double const middle = is_small ? 0.0 : small_integer(odd >> bin_bits) * 0x1p27;
  double const sum = head + (middle + small_integer(low));
  // Scales in two steps, because one factor could overflow. The second step is exact, unless the result overflows.
  std::uint64_t const unit = unit_of(tier(a));
  std::uint64_t const part = shift_signed(unit, 1);
  double const value = sum * power_of_two(part) * power_of_two(unit - part);
  auto const [bits, mask] = counted_in(a);
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(value) & mask) | bits);
}

template <class T>
[[nodiscard]] consteval bool refuse_reproducible() {
  static_assert(
      reproducible<T>,
      "tutti::reproducible_sum works on float, double and tutti::binned_sum: widen half and bfloat16 to float; "
      "sums of integers are reproducible by themselves");
  return false;
}
template <class T>
concept adds_reproducibly = reproducible<T> || refuse_reproducible<T>();

}  // namespace detail

/// Addition with the same bits for any number of ranks, in any order, over every topology, cut into any segments: it is
/// exactly associative. `binned_sum` explains it. A result is at least as exact as a sum in double, rounded once to To.
/// Contributions travel as From, results as To, and partial sums as accumulators of 16 bytes.
///
///     tutti::allreduce sum{world, tutti::ring{}, tutti::reproducible_sum<float>{}};
///
/// The bits depend on the contributions. If each rank adds numbers before the call, the result depends on the number of
/// ranks, unless it adds accumulators:
///
///     tutti::allreduce sum{world, tutti::ring{}, tutti::reproducible_sum<tutti::binned_sum, float>{}};
///     sum(accumulators, gradients);
///
/// Elements: float, double, and accumulators of type binned_sum.
/// Bits: one result, over every schedule and any number of ranks.
/// Cost: an element travels as itself in a contribution or a result, and as 16 bytes in a partial sum.
/// Source: that of binned_sum.
///
/// @pre all ranks together contribute at most `binned_sum::limit` numbers to one sum. Operators refuse worlds of more
///      ranks; they cannot count the numbers in accumulators
template <detail::adds_reproducibly From, detail::adds_reproducibly To = From>
struct reproducible_sum {
  /// The type of a contribution. If it is not that of results, operations are out of place.
  using contribution_type = From;
  /// The type of an element of the result, and of a contribution unless there is a `contribution_type`.
  using value_type = To;
  /// The type of partial results, in which contributions are combined.
  using accumulator_type = binned_sum;
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = std::same_as<From, To>     ? "reproducible_sum"
                                           : std::same_as<To, float>  ? "reproducible_sum, to float"
                                           : std::same_as<To, double> ? "reproducible_sum, to double"
                                                                      : "reproducible_sum, to accumulators";
  /// True if combine(a, b) equals combine(b, a), which topologies that do not keep rank order demand; declared, not
  /// guessed.
  static constexpr bool commutative = true;
  /// True if (a * b) * c is a * (b * c), bit by bit; declared, not guessed.
  static constexpr bool associative = true;
  /// True if combine(a, b) and combine(b, a) have the same bits once lowered, which saves half the kernels.
  static constexpr bool symmetric = true;
  /// True if `lift` does more than convert.
  static constexpr bool lifts = !std::same_as<From, binned_sum>;
  /// True if `lower` changes anything.
  static constexpr bool lowers = !std::same_as<To, binned_sum>;
  /// True if a product is added to something, which compilers may round once instead of twice.
  static constexpr bool fuses = false;  // the products are exact
  /// The number of contributions that an accumulator can hold.
  static constexpr std::uint32_t most_contributions = binned_sum::limit;

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr binned_sum identity() noexcept { return {}; }
  /// Makes an accumulator of a contribution.
  [[nodiscard]] static constexpr binned_sum lift(From const& x) noexcept {
    if constexpr (lifts) {
      return detail::to_bins(x);
    } else {
      return x;
    }
  }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr binned_sum combine(binned_sum const& a, binned_sum const& b) noexcept {
    return tutti::combine(a, b);
  }
  /// Makes an element of the result of the accumulator of all n ranks' contributions.
  [[nodiscard]] static constexpr To lower(binned_sum const& a, rank_type) noexcept {
    if constexpr (std::same_as<To, float>) {
      return detail::to_float(a);
    } else if constexpr (lowers) {
      return detail::to_double(a);
    } else {
      return a;
    }
  }
};

namespace detail {

/// Folds blocks of 32 accumulators, as vectors of words.
template <class From, class To>
struct block_fold<reproducible_sum<From, To>> {
  using reduction = reproducible_sum<From, To>;
  static constexpr instruction_set widest = instruction_set::avx512;
  static constexpr std::size_t elements = 32;

  template <instruction_set Set, std::size_t N, bool ArrivingOnLeft, bool Finishes, class Result, class Local,
            class Arriving>
    requires(Set >= instruction_set::avx2)
  [[gnu::always_inline]] static void fold(reduction const& r, Result* target, Local const* local,
                                          Arriving const* arriving, rank_type) {
    fold_block<N>(r, target, local, arriving);
  }
  template <instruction_set Set, std::size_t N, class Result, class Operand>
    requires(Set >= instruction_set::avx2)
  [[gnu::always_inline]] static void finish(reduction const& r, Result* target, Operand const* source, rank_type) {
    finish_block<N>(r, target, source);
  }
};

/// Adds each number to an accumulator, by the fast kernels: sums several contributions of one rank before an allreduce.
///
///     tutti::detail::deposit(gradients, sums);   // any number of times
///     sum(sums);                                 // an allreduce with reproducible_sum<binned_sum>
///     tutti::detail::withdraw(sums, gradients);
///
/// @throws precondition_error if there are not as many accumulators as numbers
template <buffer Numbers, mutable_buffer_of<binned_sum> Sums>
  requires reproducible<buffer_value_t<Numbers>>
void deposit(Numbers const& numbers, Sums&& sums) {
  auto const values = elements(numbers);
  auto const accumulators = elements(sums);
  expects(values.size() == accumulators.size(), "deposit: there must be an accumulator for each of the ", values.size(),
          " numbers, not ", accumulators.size());
  auto* const bytes = reinterpret_cast<std::byte*>(accumulators.data());
  fold(reproducible_sum<buffer_value_t<Numbers>>{}, {.arriving_is_element = true}, bytes,
       reinterpret_cast<std::byte const*>(values.data()), bytes, accumulators.size(), 1);
}

/// Rounds sums to numbers.
/// @throws precondition_error if there are not as many numbers as accumulators
template <buffer_of<binned_sum> Sums, mutable_buffer Numbers>
  requires reproducible<buffer_value_t<Numbers>>
void withdraw(Sums const& sums, Numbers&& numbers) {
  auto const accumulators = elements(sums);
  auto const values = elements(numbers);
  expects(values.size() == accumulators.size(), "withdraw: there must be a number for each of the ",
          accumulators.size(), " accumulators, not ", values.size());
  finish(reproducible_sum<buffer_value_t<Numbers>>{}, false, reinterpret_cast<std::byte const*>(accumulators.data()),
         reinterpret_cast<std::byte*>(values.data()), accumulators.size(), 1);
}

}  // namespace detail

}  // namespace tutti
