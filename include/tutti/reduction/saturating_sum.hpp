// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/number.hpp>
#include <tutti/extend/operation.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

namespace tutti::inline v0_1_0 {

namespace detail {

template <class T>
[[nodiscard]] consteval bool refuse_saturating() {
  static_assert(signed_integer<T>, "tutti::saturating_sum works on signed integers");
  return false;
}
template <class T>
concept saturates = signed_integer<T> || refuse_saturating<T>();

}  // namespace detail

/// Addition of signed integers that saturates: it stops at the largest and the smallest number. Devices in the network
/// add so.
///
/// Elements: signed integers.
/// Bits: not associative, because max + 1 + -1 is max - 1 or max. If a sum saturates, the bits depend on the schedule,
/// and are equal on every rank.
/// Cost: an element travels as itself.
template <detail::saturates T>
struct saturating_sum : detail::of_numbers<T> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "saturating_sum";
  /// True if (a * b) * c is a * (b * c), bit by bit; declared, not guessed.
  static constexpr bool associative = false;
  /// The operation on accumulators that a device in the network is asked for instead of `combine`.
  static constexpr network_operation in_network =
      std::same_as<T, std::int32_t> ? network_operation::saturating_sum_int32 : network_operation::none;

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] static constexpr T identity() noexcept { return T{}; }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept {
    // No branch (compilers.md: Masks instead of branches).
    using bits = detail::unsigned_of<T>;
    auto const sum = static_cast<T>(static_cast<bits>(static_cast<bits>(a) + static_cast<bits>(b)));
    auto const limit = static_cast<T>((a >> (8 * sizeof(T) - 1)) ^ detail::largest_integer<T>);
    bool const overflows = static_cast<T>((a ^ sum) & (b ^ sum)) < 0;
    auto const mask = static_cast<T>(-static_cast<T>(overflows));
    return static_cast<T>((sum & ~mask) | (limit & mask));
  }
};

}  // namespace tutti
