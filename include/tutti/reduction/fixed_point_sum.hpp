// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/number.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/reduction/saturating_sum.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tutti::inline v0_1_0 {

/// The sum of floats in fixed point, as programmable switches compute it: each rank multiplies its numbers by `factor`
/// and rounds them to int32_t. The integers are added, and the sum is divided by the factor.
///
///     tutti::allreduce sum{world, tutti::in_network{}, tutti::fixed_point_sum{1e6F, world.size()}};
///
/// The error of a result is at most ranks / 2 / factor, plus half of its last bit. Integers are added exactly, so the
/// bits are equal in any order, over every topology and at every device.
///
/// Each of n ranks may contribute up to 2^30 / n / factor, so no sum of integers overflows. A larger number or NaN is
/// an *overflow*: the result is NaN on all ranks. A rank marks an overflow by the smallest integer. The rest of the
/// sum, at most 2^30, cannot raise the mark above -2^30, and a saturating addition cannot wrap it. A program that needs
/// the sum in spite of an overflow repeats it with floats, as nn::fixed_point does.
///
/// Elements: float.
/// Bits: one result, over every schedule and at every device.
/// Cost: an element travels as 4 bytes; one product for each contribution, and one quotient for each result.
/// Source: Sapio and others, "Scaling distributed machine learning with in-network aggregation" (SwitchML), NSDI 2021,
/// with a factor for each block; Lao and others, "ATP: in-network aggregation for multi-tenant learning", NSDI 2021,
/// with a constant factor, and floats for blocks that overflow.
class fixed_point_sum {
 public:
  /// The type of an element of the result, and of a contribution unless there is a `contribution_type`.
  using value_type = float;
  /// The type of partial results, in which contributions are combined.
  using accumulator_type = std::int32_t;
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "fixed_point_sum";
  /// True if combine(a, b) equals combine(b, a), which topologies that do not keep rank order demand; declared, not
  /// guessed.
  static constexpr bool commutative = true;
  /// True if (a * b) * c and a * (b * c) have the same bits once lowered; declared, not guessed.
  static constexpr bool associative = true;
  /// True if combine(a, b) and combine(b, a) have the same bits once lowered, which saves half the kernels.
  static constexpr bool symmetric = true;
  /// True if a product is added to something, which compilers may round once instead of twice.
  static constexpr bool fuses = false;  // products are exact
  /// The operation on accumulators that a device in the network is asked for instead of `combine`.
  static constexpr network_operation in_network = network_operation::saturating_sum_int32;

  /// @param factor the factor of all numbers, equal on all ranks; the resolution is 1 / factor
  /// @param ranks the largest number of contributions
  /// @throws precondition_error if the factor is not finite or below 2^-97 (where a sum may exceed float), or ranks is
  /// not in 1 ... 2^30
  constexpr fixed_point_sum(float factor, rank_type ranks) : factor_(factor), ranks_(ranks) {
    expects(factor >= 0x1p-97F && factor <= (std::numeric_limits<float>::max)(),
            "fixed_point_sum: the factor must be a number from 2^-97 on, not ", double{factor});
    expects(ranks > 0 && ranks <= range, "fixed_point_sum: there must be 1 to 2^30 ranks, not ", ranks);
    std::int32_t const limit = range / static_cast<std::int32_t>(ranks);
    limit_ = limit;
  }

  /// The factor that numbers are multiplied by.
  [[nodiscard]] constexpr float factor() const noexcept { return factor_; }
  /// The number of contributions that an accumulator can hold.
  [[nodiscard]] constexpr rank_type most_contributions() const noexcept { return ranks_; }
  /// The largest number that does not overflow.
  [[nodiscard]] constexpr float largest() const noexcept {
    auto const nearest = static_cast<float>(limit_ / double{factor_});
    return double{nearest} * double{factor_} <= limit_
               ? nearest
               : std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - 1);
  }
  /// A hash of the arguments, which must be equal on all ranks.
  [[nodiscard]] constexpr std::uint32_t settings() const noexcept {
    return (std::bit_cast<std::uint32_t>(factor_) * 16777619U) ^ ranks_;
  }

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr std::int32_t identity() noexcept { return 0; }
  /// Makes an accumulator of a contribution.
  [[nodiscard]] constexpr std::int32_t lift(float x) const noexcept {
    // No branch (compilers.md: Masks instead of branches).
    double const product = double{x} * double{factor_};  // exact: each has 24 bits
    double const size = product < 0 ? -product : product;
    std::uint64_t const mask = 0 - static_cast<std::uint64_t>(size <= limit_);  // zero for NaN
    double const operand = std::bit_cast<double>(std::bit_cast<std::uint64_t>(product) & mask);
    auto const nearest = std::bit_cast<std::uint64_t>(operand + 0x1.8p52);  // nearest even, in the last bits
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(nearest) |
                                     (static_cast<std::uint32_t>(~mask) & static_cast<std::uint32_t>(overflow)));
  }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr std::int32_t combine(std::int32_t a, std::int32_t b) noexcept {
    return saturating_sum<std::int32_t>::combine(a, b);
  }
  /// Makes an element of the result of the accumulator of all n ranks' contributions.
  [[nodiscard]] constexpr float lower(std::int32_t a, rank_type) const noexcept {
    // No branch (compilers.md: Masks instead of branches).
    constexpr auto nan = std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN());
    auto const quotient = std::bit_cast<std::uint32_t>(static_cast<float>(double(a) / double{factor_}));
    std::uint32_t const mask = 0 - static_cast<std::uint32_t>(a < -range);
    return std::bit_cast<float>((quotient & ~mask) | (nan & mask));
  }

 private:
  static constexpr std::int32_t range = std::int32_t{1} << 30;
  static constexpr std::int32_t overflow = (std::numeric_limits<std::int32_t>::min)();

  float factor_;
  rank_type ranks_;
  double limit_ = 0;  ///< the largest absolute value of a contribution, as an integer
};

}  // namespace tutti
