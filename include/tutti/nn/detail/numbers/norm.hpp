// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn::detail::inline numbers {

/// The Euclidean norm. Squares and sums are double, because there may be many millions; the order of additions
/// depends only on their number, so equal numbers have equal norms on every rank.
template <class T>
[[nodiscard]] double norm(std::span<T const> numbers) noexcept {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= numbers.size(); i += lanes) {
    for (std::size_t l = 0; l != lanes; ++l) {
      double const x{numbers[i + l]};
      sums[l] += x * x;
    }
  }
  double rest = 0;
  for (; i != numbers.size(); ++i) {
    rest += double{numbers[i]} * double{numbers[i]};
  }
  for (double const sum : sums) {
    rest += sum;
  }
  return std::sqrt(rest);
}

/// Scales the numbers down to a norm of `limit` if theirs is larger. Numbers with a NaN norm are unchanged; with an
/// infinite norm, infinite ones become NaN.
template <class T>
void clip_to_norm(std::span<T> numbers, double limit) noexcept {
  if (double const length = norm<T>(numbers); length > limit) {
    std::ranges::for_each(numbers, [factor = static_cast<T>(limit / length)](T& number) { number *= factor; });
  }
}

}  // namespace tutti::nn::detail::numbers
