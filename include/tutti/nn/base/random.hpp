// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace tutti::inline v0_1_0::nn {

/// A pseudo-random sequence with equal values on every platform, unlike the distributions of the standard library.
/// Generators with different (seed, stream) are independent.
///
/// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
class random_sequence {
 public:
  /// Constructs the sequence of this seed and stream.
  constexpr explicit random_sequence(std::uint64_t seed, std::uint64_t stream = 0) noexcept
      : state_(mix(seed + golden) ^ mix(mix(stream) + golden)) {}

  /// Returns 64 random bits.
  constexpr std::uint64_t operator()() noexcept { return mix(state_ += golden); }

  /// Skips this many draws. Cost: that of one.
  constexpr void discard(std::uint64_t numbers) noexcept { state_ += numbers * golden; }

  /// Returns a number in [0, n), n > 0. Multiplies instead of dividing; the bias is below n / 2^32.
  constexpr std::uint32_t draw_below(std::uint32_t n) noexcept {
    return static_cast<std::uint32_t>(((*this)() >> 32) * std::uint64_t{n} >> 32);
  }

  /// Returns a whole number in [low, high].
  constexpr std::int32_t draw_between(std::int32_t low, std::int32_t high) noexcept {
    return low + static_cast<std::int32_t>(draw_below(static_cast<std::uint32_t>(high - low) + 1));
  }

  /// True with probability `percent` / 100.
  constexpr bool chance(std::uint32_t percent) noexcept { return draw_below(100) < percent; }

  /// Returns a multiple of 2^-24 in [0, 1), exact in every floating-point type.
  template <class T>
  constexpr T fraction() noexcept {
    return static_cast<T>((*this)() >> 40) / static_cast<T>(1 << 24);
  }

  /// Permutes the items; all orders are equally likely. (Fisher and Yates; Durstenfeld 1964) Cost: one pass.
  template <class T>
  constexpr void shuffle(std::span<T> items) noexcept {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[draw_below(static_cast<std::uint32_t>(i))]);
    }
  }

  // The names that the standard library requires of a generator.
  /// The type of a draw.
  using result_type = std::uint64_t;
  /// The smallest draw.
  [[nodiscard]] static constexpr result_type(min)() noexcept { return 0; }
  /// The largest draw.
  [[nodiscard]] static constexpr result_type(max)() noexcept { return (std::numeric_limits<result_type>::max)(); }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
  }

  std::uint64_t state_;
};

}  // namespace tutti::nn
