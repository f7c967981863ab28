// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/block_fold.hpp>
#include <tutti/detail/reduction/short_block.hpp>
#include <tutti/detail/reduction/traits.hpp>
#include <tutti/extend/element.hpp>
#include <tutti/extend/reduction.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline reduction {

/// A reduction of numbers in a narrow format (half, bfloat16): each combination widens its operands, combines them by
/// `Wide` and rounds the result. Accumulators are narrow elements, and travel as such.
///
/// For +, -, x and / in float this is the correctly rounded operation: float has more than twice the bits of half and
/// bfloat16, plus two, so double rounding is harmless (S. A. Figueroa, "When is double rounding innocuous?", 1995).
template <element T, accumulates_in_elements Wide>
  requires(!lifts<Wide>)
class rounding_reduction {
 public:
  using value_type = T;
  using accumulator_type = T;
  using wide_reduction = Wide;
  static constexpr std::string_view name = Wide::name;
  static constexpr bool commutative = Wide::commutative;
  static constexpr bool associative = Wide::associative;
  static constexpr bool symmetric = tutti::detail::symmetric<Wide>;
  static constexpr bool lifts = false;
  static constexpr bool lowers = tutti::detail::lowers<Wide>;
  static constexpr bool fuses = tutti::detail::fuses<Wide>;

  constexpr rounding_reduction()
    requires std::default_initializable<Wide>
  = default;
  constexpr explicit rounding_reduction(Wide wide) : wide_(std::move(wide)) {}

  [[nodiscard]] constexpr T identity() const { return T(wide_.identity()); }
  [[nodiscard]] constexpr T lift(T x) const { return x; }
  [[nodiscard]] constexpr T combine(T a, T b) const { return T(wide_.combine(a, b)); }
  [[nodiscard]] constexpr T lower(T a, rank_type n) const { return T(wide_.lower(a, n)); }

  [[nodiscard]] constexpr Wide const& wide() const noexcept { return wide_; }

 private:
  Wide wide_;
};

/// A reduction that the kernels may run in stages: widen a block, combine it, narrow it.
template <class R>
concept rounds = requires(R const& r) {
  typename R::wide_reduction;
  r.wide();
};

template <class T>
inline constexpr std::size_t numbers_per_line = 64 / sizeof(typename T::computed_in);

/// Works on a cache line of wide numbers at a time, which stay in registers. Each stage is a loop of its own
/// (compilers.md: Loops of one step). AVX-512 does not speed up the rounding.
template <tutti::reduction R>
  requires rounds<R>
struct block_fold<R> {
  static constexpr instruction_set widest = instruction_set::avx2;
  static constexpr std::size_t elements = 0;

  template <instruction_set Set, std::size_t N, class T>
  [[gnu::always_inline]] static void finish(R const& r, T* target, T const* source, rank_type ranks) {
    constexpr std::size_t part = N < numbers_per_line<T> ? N : numbers_per_line<T>;
    for (std::size_t at = 0; at < N; at += part) {
      typename T::computed_in x[part];
      widen<Set, part>(source + at, x);
      for (std::size_t i = 0; i < part; ++i) {
        x[i] = r.wide().lower(x[i], ranks);
      }
      narrow<Set, part>(x, target + at);
    }
  }

  template <instruction_set Set, std::size_t N, bool ArrivingOnLeft, bool Finishes, class T>
  [[gnu::always_inline]] static void fold(R const& r, T* target, T const* local, T const* arriving,
                                          [[maybe_unused]] rank_type ranks) {
    constexpr std::size_t part = N < numbers_per_line<T> ? N : numbers_per_line<T>;
    for (std::size_t at = 0; at < N; at += part) {
      typename T::computed_in x[part];
      typename T::computed_in y[part];
      widen<Set, part>(local + at, x);
      widen<Set, part>(arriving + at, y);
      for (std::size_t i = 0; i < part; ++i) {
        x[i] = ArrivingOnLeft ? r.wide().combine(y[i], x[i]) : r.wide().combine(x[i], y[i]);
      }
      if constexpr (Finishes) {
        if constexpr (!lowers_nan_only<typename R::wide_reduction>) {
          round<Set, part, T>(x);
        }
        for (std::size_t i = 0; i < part; ++i) {
          x[i] = r.wide().lower(x[i], ranks);
        }
      }
      narrow<Set, part>(x, target + at);
    }
  }
};

}  // namespace tutti::detail::reduction
