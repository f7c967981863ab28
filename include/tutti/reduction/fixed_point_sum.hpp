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

/// The sum of floats by integers, as programmable switches make it: each rank multiplies its numbers by `factor` and
/// rounds them to int32_t, integers are added, and the sum is divided by the factor.
///
///     tutti::allreduce sum{world, tutti::in_network{}, tutti::fixed_point_sum{1e6F, world.size()}};
///
/// A result is wrong by at most ranks / 2 / factor, and half of its own last bit. It is exact addition of integers in
/// between, so the bits are the same in any order, over every topology and at every device.
///
/// Of n ranks, each may give up to 2^30 / n / factor, so no sum of integers overflows. What is larger, or no number, is
/// an *overflow*: the result is NaN, on all ranks, whatever the others give. A rank marks it by the smallest integer:
/// the rest of the sum, at most 2^30, cannot lift that above -2^30, and additions that saturate cannot wrap it around.
/// A sum that must be had nevertheless is to be made again, of floats: nn::fixed_point does that.
///
/// Elements: float.
/// Bits: one result, over every schedule and at every device.
/// Cost: 4 bytes of an element travel; a product on the way in, and a quotient on the way out.
/// Source: Sapio and others, "Scaling distributed machine learning with in-network aggregation" (SwitchML), NSDI 2021,
/// which picks the factor by block; Lao and others, "ATP: in-network aggregation for multi-tenant learning", NSDI 2021,
/// which has a constant one, and sends what has overflowed as floats.
class fixed_point_sum {
 public:
  /// The type of an element of the result, and of a contribution unless there is a `contribution_type`.
  using value_type = float;
  /// The type that travels between ranks and is combined.
  using accumulator_type = std::int32_t;
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "fixed_point_sum";
  /// True if a * b is b * a, bit by bit, as a ring demands; declared, not guessed.
  static constexpr bool commutative = true;
  /// True if (a * b) * c is a * (b * c), bit by bit; declared, not guessed.
  static constexpr bool associative = true;
  /// True if combine(a, b) and combine(b, a) have the same bits once lowered, which saves half the kernels.
  static constexpr bool symmetric = true;
  /// True if a product is added to something, which compilers may round once instead of twice.
  static constexpr bool fuses = false;  // products are exact
  /// The operation on accumulators that a device in the network is asked for instead of `combine`.
  static constexpr network_operation in_network = network_operation::saturating_sum_int32;

  /// @param factor of the numbers, the same on all ranks; the integers' last bit is worth 1 / factor
  /// @param ranks how many contribute at most
  /// @throws precondition_error if the factor is no number or below 2^-97 (where sums may be no floats), or there are
  /// no ranks or more than 2^30
  constexpr fixed_point_sum(float factor, rank_type ranks) : factor_(factor), ranks_(ranks) {
    expects(factor >= 0x1p-97F && factor <= (std::numeric_limits<float>::max)(),
            "fixed_point_sum: the factor must be a number from 2^-97 on, not ", double{factor});
    expects(ranks > 0 && ranks <= range, "fixed_point_sum: there must be 1 to 2^30 ranks, not ", ranks);
    std::int32_t const most = range / static_cast<std::int32_t>(ranks);
    most_ = most;
  }

  /// What numbers are multiplied by.
  [[nodiscard]] constexpr float factor() const noexcept { return factor_; }
  /// How many contributions a sum has room for.
  [[nodiscard]] constexpr rank_type most_contributions() const noexcept { return ranks_; }
  /// The largest number that does not overflow.
  [[nodiscard]] constexpr float largest() const noexcept {
    auto const nearest = static_cast<float>(most_ / double{factor_});
    return double{nearest} * double{factor_} <= most_ ? nearest
                                                      : std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - 1);
  }
  /// What ranks must agree upon.
  [[nodiscard]] constexpr std::uint32_t settings() const noexcept {
    return (std::bit_cast<std::uint32_t>(factor_) * 16777619U) ^ ranks_;
  }

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr std::int32_t identity() noexcept { return 0; }
  /// Makes an accumulator of a contribution.
  [[nodiscard]] constexpr std::int32_t lift(float x) const noexcept {
    // Without a branch, so that the loop over them is vectorised.
    double const scaled = double{x} * double{factor_};  // exact: each has 24 bits
    double const size = scaled < 0 ? -scaled : scaled;
    std::uint64_t const mask = 0 - static_cast<std::uint64_t>(size <= most_);  // none for NaN
    double const kept = std::bit_cast<double>(std::bit_cast<std::uint64_t>(scaled) & mask);
    auto const nearest = std::bit_cast<std::uint64_t>(kept + 0x1.8p52);  // of two, the even one; in its last bits
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(nearest) |
                                     (static_cast<std::uint32_t>(~mask) & static_cast<std::uint32_t>(overflow)));
  }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr std::int32_t combine(std::int32_t a, std::int32_t b) noexcept {
    return saturating_sum<std::int32_t>::combine(a, b);
  }
  /// Makes an element of the result of the accumulator of all n ranks' contributions.
  [[nodiscard]] constexpr float lower(std::int32_t a, rank_type) const noexcept {
    // Without a branch, so that the loop over them is vectorised.
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
  double most_ = 0;  ///< the size of the largest integer that a rank gives
};

}  // namespace tutti
