// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/reduction.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <string_view>

namespace tutti::inline v0_1_0 {

namespace detail {

template <class T>
[[nodiscard]] consteval bool refuse_truth() {
  static_assert(integer<T>, "the logical reductions work on bool and integers");
  return false;
}
template <class T>
concept truth = integer<T> || refuse_truth<T>();

/// The members that the logical reductions share: zero is false, the result is 0 or 1.
template <integer T>
struct of_truths {
  using value_type = T;
  using accumulator_type = T;
  static constexpr bool commutative = true;
  static constexpr bool associative = true;
  static constexpr bool symmetric = true;
  static constexpr bool lifts = false;
  static constexpr bool fuses = false;
  static constexpr bool lowers =
      !std::same_as<T, bool>;  // one rank combines nothing, so its element may be neither 0 nor 1

  [[nodiscard]] static constexpr T lift(T x) noexcept { return x; }
  [[nodiscard]] static constexpr T lower(T a, rank_type) noexcept { return static_cast<T>(a != T{}); }
};

}  // namespace detail

/// The conjunction: 1 if all contributions are true (not zero), otherwise 0.
///
/// Elements: integers and bool.
/// Bits: one result, over every schedule.
/// Cost: an element travels as itself.
template <detail::truth T = bool>
struct logical_and : detail::of_truths<T> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "logical_and";

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr T identity() noexcept { return T{1}; }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept {
    return static_cast<T>(static_cast<int>(a != T{}) & static_cast<int>(b != T{}));
  }
};

/// The disjunction: 1 if any contribution is true (not zero), otherwise 0.
///
/// Elements: integers and bool.
/// Bits: one result, over every schedule.
/// Cost: an element travels as itself.
template <detail::truth T = bool>
struct logical_or : detail::of_truths<T> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "logical_or";

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr T identity() noexcept { return T{}; }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept {
    return static_cast<T>(static_cast<int>(a != T{}) | static_cast<int>(b != T{}));
  }
};

/// The parity: 1 if an odd number of contributions is true (not zero), otherwise 0.
///
/// Elements: integers and bool.
/// Bits: one result, over every schedule.
/// Cost: an element travels as itself.
template <detail::truth T = bool>
struct logical_xor : detail::of_truths<T> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "logical_xor";

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr T identity() noexcept { return T{}; }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept {
    return static_cast<T>(static_cast<int>(a != T{}) ^ static_cast<int>(b != T{}));
  }
};

}  // namespace tutti
