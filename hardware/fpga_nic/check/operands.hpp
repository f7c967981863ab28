// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>

/// Random pairs of words of 32 bits that are hard for a lane.
class operands {
 public:
  using pair = std::pair<std::uint32_t, std::uint32_t>;

  enum class kind : std::uint8_t {
    arbitrary,
    overlapping,
    subnormal,
    cancelling,
    tie,
    special,
    boundary,
    overflow,
    product,
    count
  };
  static constexpr auto kinds = static_cast<std::size_t>(kind::count);

  explicit operands(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] pair next(kind k) {
    std::uint64_t const r = random_();
    auto const a = static_cast<std::uint32_t>(r);
    auto const b = static_cast<std::uint32_t>(r >> 32);
    std::uint64_t const s = random_();
    switch (k) {
      case kind::overlapping:  // exponents with overlapping fractions
        return {a, with_exponent(b, exponent(a) + static_cast<std::uint32_t>(s % 57) - 28)};
      case kind::subnormal:
        return {with_exponent(a, s % 3), with_exponent(b, s / 3 % 26)};
      case kind::cancelling: {  // nearly equal magnitudes
        std::uint32_t const difference = static_cast<std::uint32_t>(s) >> (s >> 32) % 32;
        return {a, (a ^ 0x80000000U) + (s >> 63 == 0 ? difference : 0U - difference)};
      }
      case kind::tie: {  // the smaller one is half of the other's last place, plus a little or nothing
        auto const e = static_cast<std::uint32_t>(24 + s % 230);
        std::uint32_t const little = (s >> 8) % 4 == 0 ? 0 : 1U << (s >> 10) % 23;
        return {with_exponent(a, e), with_exponent((b & 0x80000000U) | (s >> 20 & 1U ? little : 0), e - 24)};
      }
      case kind::special:
        return {specials[s % specials.size()], (s >> 32) % 2 == 0 ? specials[(s >> 33) % specials.size()] : b};
      case kind::boundary:  // fractions of few or of nearly all bits
        return {sparse(a, s), sparse(b, s >> 32)};
      case kind::overflow:
        return {with_exponent(a, 250 + s % 6), with_exponent(b, 226 + s / 6 % 30)};
      case kind::product: {  // a product near the smallest or largest number; few bits, so it may be a tie
        auto const e = static_cast<std::uint32_t>(1 + s % 254);
        auto const exponent_sum = static_cast<std::uint32_t>(s >> 40 & 1U ? 101 + (s >> 41) % 30 : 377 + (s >> 41) % 8);
        std::uint32_t const f = exponent_sum > e ? exponent_sum - e : 0;
        return {sparse(with_exponent(a, e), s >> 8), (s >> 50) % 3 == 0
                                                         ? with_exponent(b, f < 255 ? f : 254)
                                                         : sparse(with_exponent(b, f < 255 ? f : 254), s >> 24)};
      }
      default:
        return {a, b};
    }
  }

  /// Zeros, the smallest and largest of each class, infinities, NaNs, ones, limits of integers.
  static constexpr std::array<std::uint32_t, 24> specials{
      0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
      0x00800001, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0xff800001, 0x7fc00000,
      0xffc00000, 0x7fffffff, 0xffffffff, 0x3f800000, 0xbf800000, 0x7effffff, 0x34000000, 0x33800000};

 private:
  [[nodiscard]] static std::uint32_t exponent(std::uint32_t x) { return x >> 23 & 0xffU; }
  [[nodiscard]] static std::uint32_t with_exponent(std::uint32_t x, std::uint64_t e) {
    return (x & 0x807fffffU) | (static_cast<std::uint32_t>(e) & 0xffU) << 23;
  }
  [[nodiscard]] static std::uint32_t sparse(std::uint32_t x, std::uint64_t s) {
    std::uint32_t const bits = 1U << s % 23 | 1U << s / 23 % 23;
    return (x & 0xff800000U) | (s >> 20 & 1U ? bits : 0x007fffffU & ~bits);
  }

  std::mt19937_64 random_;
};
