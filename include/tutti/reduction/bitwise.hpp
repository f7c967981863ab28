// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/reduction.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/reduction/number_concepts.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>

namespace tutti::inline v0_1_0 {

namespace detail {

template <class T>
[[nodiscard]] consteval bool refuse_bits() {
  static_assert(bits<T>, "the bitwise reductions work on integers and std::byte");
  return false;
}
template <class T>
concept bitwise = bits<T> || refuse_bits<T>();

/// The members that the bitwise reductions share.
template <bits T>
struct of_bits {
  using value_type = T;
  using accumulator_type = T;
  static constexpr bool commutative = true;
  static constexpr bool associative = true;
  static constexpr bool symmetric = true;
  static constexpr bool lifts = false;
  static constexpr bool fuses = false;
  static constexpr bool lowers = false;

  [[nodiscard]] static constexpr T lift(T x) noexcept { return x; }
  [[nodiscard]] static constexpr T lower(T a, rank_type) noexcept { return a; }
};

}  // namespace detail

/// The bits that are set in all contributions.
///
/// Elements: integers and std::byte.
/// Bits: one result, over every schedule.
/// Cost: an element travels as itself.
template <detail::bitwise T>
struct bit_and : detail::of_bits<T> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "bit_and";

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr T identity() noexcept {
    if constexpr (std::same_as<T, std::byte>) {
      return std::byte{0xff};
    } else {
      return static_cast<T>(-1);
    }
  }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept { return static_cast<T>(a & b); }
};

/// The bits that are set in any contribution.
///
/// Elements: integers and std::byte.
/// Bits: one result, over every schedule.
/// Cost: an element travels as itself.
template <detail::bitwise T>
struct bit_or : detail::of_bits<T> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "bit_or";

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr T identity() noexcept { return T{}; }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept { return static_cast<T>(a | b); }
};

/// The bits that are set in an odd number of contributions.
///
/// Elements: integers and std::byte.
/// Bits: one result, over every schedule.
/// Cost: an element travels as itself.
template <detail::bitwise T>
struct bit_xor : detail::of_bits<T> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "bit_xor";

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr T identity() noexcept { return T{}; }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept { return static_cast<T>(a ^ b); }
};

}  // namespace tutti
