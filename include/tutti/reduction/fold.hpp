// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/expects.hpp>
#include <tutti/core/types.hpp>
#include <tutti/reduction/concept.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tutti {

/// Whether lift does anything. A reduction says `static constexpr bool lifts = false` if lift(x) is x;
/// accumulators are elements then.
template <reduction R>
inline constexpr bool lifts = [] {
  if constexpr (requires { R::lifts; }) {
    static_assert(R::lifts || accumulates_in_elements<R>, "lift(x) cannot be x if accumulators are not elements");
    return static_cast<bool>(R::lifts);
  } else {
    return true;
  }
}();

/// Whether lower does anything. A reduction says `static constexpr bool lowers = false` if
/// lower(a, n) is a, for every n; accumulators are elements then.
template <reduction R>
inline constexpr bool lowers = [] {
  if constexpr (requires { R::lowers; }) {
    static_assert(R::lowers || accumulates_in_elements<R>, "lower(a, n) cannot be a if accumulators are not elements");
    return static_cast<bool>(R::lowers);
  } else {
    return true;
  }
}();

/// Whether combine(a, b) and combine(b, a) have the same bits once lowered: more than commutative
/// says. Such a reduction says `static constexpr bool symmetric = true`; it needs half the kernels.
template <reduction R>
inline constexpr bool symmetric = [] {
  if constexpr (requires { R::symmetric; }) {
    static_assert(!R::symmetric || R::commutative, "a symmetric reduction commutes");
    return static_cast<bool>(R::symmetric);
  } else {
    return false;
  }
}();

/// What a fold is given and what it makes. An element is a raw value_type, still to be lifted;
/// anything else is an accumulator.
struct fold_kind {
  bool local_is_element = false;
  bool arriving_is_element = false;
  bool arriving_on_left = false;
  bool finishes = false;
};

namespace detail {

template <reduction R, bool Element>
using operand_t = std::conditional_t<Element, typename R::value_type, typename R::accumulator_type>;

/// Reads an operand as an accumulator.
template <bool Element, reduction R>
[[nodiscard]] constexpr auto raise(R const& r, operand_t<R, Element> const& x) {
  if constexpr (Element && lifts<R>) {
    return r.lift(x);
  } else {
    return x;
  }
}

/// The fold of one pair.
template <reduction R, bool LocalElement, bool ArrivingElement, bool ArrivingOnLeft, bool Finishes>
struct fold_pair {
  using local_type = operand_t<R, LocalElement>;
  using arriving_type = operand_t<R, ArrivingElement>;
  using result_type = operand_t<R, Finishes>;

  R reduction;  // a copy: no store of a result can change it
  rank_type ranks;

  constexpr result_type operator()(local_type const& local, arriving_type const& arriving) const {
    auto const x = raise<LocalElement>(reduction, local);
    auto const y = raise<ArrivingElement>(reduction, arriving);
    auto const acc = ArrivingOnLeft ? reduction.combine(y, x) : reduction.combine(x, y);
    if constexpr (Finishes) {
      return reduction.lower(acc, ranks);
    } else {
      return acc;
    }
  }
};

/// The end of one element.
template <reduction R, bool FromElement>
struct finish_one {
  R reduction;
  rank_type ranks;

  constexpr typename R::value_type operator()(operand_t<R, FromElement> const& x) const {
    return reduction.lower(raise<FromElement>(reduction, x), ranks);
  }
};

// Kernels. They run in blocks of a constant number of elements, because g++ -O2 vectorises no loop
// that would need an epilogue; and results either are the local operands or overlap nothing, which
// __restrict says, because it vectorises no loop that would need to check that at run time.
// test/reduction/vectorised looks at the instructions.

/// Elements per block: a cache line of numbers; other types one by one.
template <reduction R>
inline constexpr std::size_t block =
    std::is_arithmetic_v<typename R::value_type> && std::is_arithmetic_v<typename R::accumulator_type>
        ? 64 / (sizeof(typename R::value_type) > sizeof(typename R::accumulator_type)
                    ? sizeof(typename R::value_type)
                    : sizeof(typename R::accumulator_type))
        : 1;

template <std::size_t N, class Function, class To, class... From>
inline void map_block(Function const& f, To* __restrict to, From const* __restrict... from) {
  for (std::size_t i = 0; i < N; ++i) {
    to[i] = f(from[i]...);
  }
}

template <std::size_t N, class Function, class To, class... From>
inline void update_block(Function const& f, To* __restrict to, From const* __restrict... from) {
  for (std::size_t i = 0; i < N; ++i) {
    to[i] = f(to[i], from[i]...);
  }
}

template <std::size_t Block, class Function, class To, class... From>
void map(Function const f, std::size_t n, To* to, From const*... from) {
  std::size_t const whole = n - n % Block;
  for (std::size_t i = 0; i < whole; i += Block) {
    map_block<Block>(f, to + i, (from + i)...);
  }
  for (std::size_t i = whole; i < n; ++i) {
    map_block<1>(f, to + i, (from + i)...);
  }
}

template <std::size_t Block, class Function, class To, class... From>
void update(Function const f, std::size_t n, To* to, From const*... from) {
  std::size_t const whole = n - n % Block;
  for (std::size_t i = 0; i < whole; i += Block) {
    update_block<Block>(f, to + i, (from + i)...);
  }
  for (std::size_t i = whole; i < n; ++i) {
    update_block<1>(f, to + i, (from + i)...);
  }
}

template <class T>
[[nodiscard]] inline bool aligned(void const* p) noexcept {
  return reinterpret_cast<std::uintptr_t>(p) % alignof(T) == 0;
}

/// Calls f with a run-time flag as a type; a flag that makes no difference is false.
template <bool Matters, class F>
inline void with_flag(bool flag, F const& f) {
  if constexpr (Matters) {
    if (flag) {
      f(std::true_type{});
      return;
    }
  }
  f(std::false_type{});
}

}  // namespace detail

/// Folds n arriving elements or accumulators into n local ones:
///
///     acc = kind.arriving_on_left ? combine(arriving, local) : combine(local, arriving)
///     result[i] = kind.finishes ? lower(acc, ranks) : acc
///
/// `result` holds elements if the fold finishes, accumulators otherwise. It may be `local` itself if
/// both hold the same type; else it overlaps neither operand. The flags are looked at once a call; a
/// reduction that declares `lifts`, `lowers` or `symmetric` has no code for flags that change nothing.
///
/// @pre the three pointers are aligned for what they hold.
template <reduction R>
void fold(R const& r, fold_kind kind, std::byte const* local, std::byte const* arriving, std::byte* result,
          std::size_t n, rank_type ranks) {
  detail::with_flag<lifts<R>>(kind.local_is_element, [&](auto local_is_element) {
    detail::with_flag<lifts<R>>(kind.arriving_is_element, [&](auto arriving_is_element) {
      detail::with_flag<!symmetric<R>>(kind.arriving_on_left, [&](auto arriving_on_left) {
        detail::with_flag<lowers<R>>(kind.finishes, [&](auto finishes) {
          using pair = detail::fold_pair<R, local_is_element, arriving_is_element, arriving_on_left, finishes>;
          using local_type = typename pair::local_type;
          using arriving_type = typename pair::arriving_type;
          using result_type = typename pair::result_type;
          expects<check::thorough>(detail::aligned<local_type>(local) && detail::aligned<arriving_type>(arriving) &&
                                       detail::aligned<result_type>(result),
                                   "fold: align the operands for their types");
          auto* const to = reinterpret_cast<result_type*>(result);
          auto const* const from = reinterpret_cast<arriving_type const*>(arriving);
          if constexpr (std::same_as<local_type, result_type>) {
            if (local == result) {
              detail::update<detail::block<R>>(pair{r, ranks}, n, to, from);
              return;
            }
          }
          detail::map<detail::block<R>>(pair{r, ranks}, n, to, reinterpret_cast<local_type const*>(local), from);
        });
      });
    });
  });
}

/// Ends a reduction that needs no fold any more: `to[i] = lower(from[i], ranks)`, lifting first if
/// `from` holds elements. `to` may be `from` itself if both hold the same type; else they do not
/// overlap. Copies if neither lift nor lower does anything.
///
/// @pre both pointers are aligned for what they hold.
template <reduction R>
void finish(R const& r, bool from_element, std::byte const* from, std::byte* to, std::size_t n, rank_type ranks) {
  if constexpr (!lifts<R> && !lowers<R>) {
    if (from != to && n != 0) {
      std::memcpy(to, from, n * sizeof(typename R::value_type));
    }
  } else {
    detail::with_flag<lifts<R>>(from_element, [&](auto is_element) {
      using one = detail::finish_one<R, is_element>;
      using from_type = detail::operand_t<R, is_element>;
      using result_type = typename R::value_type;
      expects<check::thorough>(detail::aligned<from_type>(from) && detail::aligned<result_type>(to),
                               "finish: align the operands for their types");
      auto* const out = reinterpret_cast<result_type*>(to);
      if constexpr (std::same_as<from_type, result_type>) {
        if (from == to) {
          detail::update<detail::block<R>>(one{r, ranks}, n, out);
          return;
        }
      }
      detail::map<detail::block<R>>(one{r, ranks}, n, out, reinterpret_cast<from_type const*>(from));
    });
  }
}

}  // namespace tutti
