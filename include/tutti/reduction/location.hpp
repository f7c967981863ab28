// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/number.hpp>
#include <tutti/extend/element.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace tutti::inline v0_1_0 {

/// A number and its index. Both have the same size, so the struct has no padding.
template <detail::native_number T,
          detail::unsigned_integer Index = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>
  requires(sizeof(T) == sizeof(Index))
struct indexed_value {
  T value;      ///< the number that is compared
  Index index;  ///< the index of the number; of equal numbers, the lower index is kept

  friend bool operator==(indexed_value const&, indexed_value const&) = default;

 private:
  struct spelling {
    static constexpr std::string_view type_name = tutti::element_name<T>();
    static constexpr std::string_view suffix = "@index";

    constexpr spelling() {
      char* end = text;
      for (std::string_view const part : {type_name, suffix}) {
        for (char const c : part) {
          *end++ = c;
        }
      }
    }

    char text[type_name.size() + suffix.size()]{};
  };
  static constexpr spelling full_name{};

 public:
  /// The name of this element type in errors, traces and the fingerprint of a call.
  static constexpr std::string_view element_name{full_name.text, sizeof(full_name.text)};
};

namespace detail {

/// A sort key: x itself, or for floating point an integer with -0 before +0, and NaN before or after all others.
template <bool NanFirst, native_number T>
[[nodiscard]] constexpr auto order_of(T x) noexcept {
  if constexpr (std::floating_point<T>) {
    using word = std::make_signed_t<bits_t<T>>;
    using limits = std::numeric_limits<word>;
    auto const bits = std::bit_cast<word>(x);
    auto const order = static_cast<word>(bits ^ ((bits >> limits::digits) & (limits::max)()));
    return x != x ? (NanFirst ? (limits::min)() : (limits::max)()) : order;
  } else {
    return x;
  }
}

/// Selects the pair with the extreme number, and of equal numbers the pair with the lower index.
template <bool Largest, native_number T, unsigned_integer Index>
struct extreme_location {
  using value_type = indexed_value<T, Index>;
  using accumulator_type = value_type;
  static constexpr bool commutative = true;
  static constexpr bool associative = true;
  static constexpr bool symmetric = true;
  static constexpr bool lifts = false;
  static constexpr bool lowers = std::floating_point<T>;
  static constexpr bool fuses = false;

  [[nodiscard]] static constexpr value_type identity() noexcept {
    return {std::conditional_t<Largest, max<T>, min<T>>::identity(), largest_integer<Index>};
  }
  [[nodiscard]] static constexpr value_type lift(value_type x) noexcept { return x; }
  [[nodiscard]] static constexpr value_type combine(value_type a, value_type b) noexcept {
    auto const x = order_of<!Largest>(a.value);
    auto const y = order_of<!Largest>(b.value);
    // No branch (compilers.md: Masks instead of branches).
    bool const a_first = (Largest ? y < x : x < y) | ((x == y) & (a.index <= b.index));
    return {a_first ? a.value : b.value, a_first ? a.index : b.index};
  }
  [[nodiscard]] static constexpr value_type lower(value_type a, rank_type) noexcept {
    return {detail::canonical(a.value), a.index};
  }
};

}  // namespace detail

/// The smallest number and its index; of equal numbers, and of NaNs, the one with the lowest index. As in min, -0 < +0,
/// and the result is NaN if any number is NaN.
///
///     std::vector<tutti::indexed_value<float>> best{{loss, world.rank()}};
///     tutti::allreduce{world, tutti::doubling{}, tutti::min_location<float>{}}(best);
///
/// Elements: indexed_value<T, Index>, of integers, float and double with an unsigned index of the same size.
/// Bits: one result, over every schedule.
/// Cost: an element travels as itself, twice the bytes of a number.
template <detail::native_number T, detail::unsigned_integer Index = decltype(indexed_value<T>::index)>
struct min_location : detail::extreme_location<false, T, Index> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "min_location";
};

/// The largest number and its index; of equal numbers, and of NaNs, the one with the lowest index. As in max, -0 < +0,
/// and the result is NaN if any number is NaN.
///
/// Elements: indexed_value<T, Index>, of integers, float and double with an unsigned index of the same size.
/// Bits: one result, over every schedule.
/// Cost: an element travels as itself, twice the bytes of a number.
template <detail::native_number T, detail::unsigned_integer Index = decltype(indexed_value<T>::index)>
struct max_location : detail::extreme_location<true, T, Index> {
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "max_location";
};

}  // namespace tutti
