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

/// A reduction of numbers that are stored in a narrow format (half, bfloat16): operands are widened, `Wide` combines
/// them, and the result is rounded, once a combination. Accumulators are elements, so a message is as short as
/// the vector.
///
/// For +, -, x and / of half and bfloat16 in float this is the correctly rounded operation: float has more than
/// twice their bits and two, so rounding twice does no harm (S. A. Figueroa, "When is double rounding
/// innocuous?", 1995).
template <element T, accumulates_in_elements Wide>
  requires(!lifts<Wide>)
class rounded {
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

  constexpr rounded()
    requires std::default_initializable<Wide>
  = default;
  constexpr explicit rounded(Wide wide) : wide_(std::move(wide)) {}

  [[nodiscard]] constexpr T identity() const { return T(wide_.identity()); }
  [[nodiscard]] constexpr T lift(T x) const { return x; }
  [[nodiscard]] constexpr T combine(T a, T b) const { return T(wide_.combine(a, b)); }
  [[nodiscard]] constexpr T lower(T a, rank_type n) const { return T(wide_.lower(a, n)); }

  [[nodiscard]] constexpr Wide const& wide() const noexcept { return wide_; }

 private:
  Wide wide_;
};

/// Whether the kernels may take the rounding apart: widen a block, combine it, narrow it.
template <class R>
concept rounds = requires(R const& r) {
  typename R::wide_reduction;
  r.wide();
};

template <class T>
inline constexpr std::size_t rounded_at_once = 64 / sizeof(typename T::computed_in);

/// A cache line of wide numbers at a time: they stay in registers. Each stage is a loop of its own, which compilers
/// vectorise where they do not vectorise all of it in one. Rounding is as fast without AVX-512.
template <tutti::reduction R>
  requires rounds<R>
struct block_fold<R> {
  static constexpr instruction_set widest = instruction_set::avx2;
  static constexpr std::size_t elements = 0;

  template <instruction_set Set, std::size_t N, class T>
  [[gnu::always_inline]] static void finish(R const& r, T* to, T const* from, rank_type ranks) {
    constexpr std::size_t part = N < rounded_at_once<T> ? N : rounded_at_once<T>;
    for (std::size_t at = 0; at < N; at += part) {
      typename T::computed_in x[part];
      widen<Set, part>(from + at, x);
      for (std::size_t i = 0; i < part; ++i) {
        x[i] = r.wide().lower(x[i], ranks);
      }
      narrow<Set, part>(x, to + at);
    }
  }

  template <instruction_set Set, std::size_t N, bool ArrivingOnLeft, bool Finishes, class T>
  [[gnu::always_inline]] static void fold(R const& r, T* to, T const* local, T const* arriving,
                                          [[maybe_unused]] rank_type ranks) {
    constexpr std::size_t part = N < rounded_at_once<T> ? N : rounded_at_once<T>;
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
      narrow<Set, part>(x, to + at);
    }
  }
};

}  // namespace tutti::detail::reduction
