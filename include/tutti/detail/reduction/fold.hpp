// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/block_fold.hpp>
#include <tutti/detail/reduction/kernel.hpp>
#include <tutti/detail/reduction/traits.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/reduction.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::inline reduction {

/// What a fold is given and what it makes. An element that it is given is a raw contribution, still to be lifted;
/// anything else is an accumulator. It makes an accumulator, unless it finishes.
struct fold_kind {
  bool local_is_element = false;
  bool arriving_is_element = false;
  bool arriving_on_left = false;
  bool finishes = false;
};

template <tutti::reduction R, bool Element>
using operand_t = std::conditional_t<Element, contribution_t<R>, typename R::accumulator_type>;
template <tutti::reduction R, bool Finishes>
using made_t = std::conditional_t<Finishes, typename R::value_type, typename R::accumulator_type>;

/// Reads an operand as an accumulator.
template <bool Element, tutti::reduction R>
[[nodiscard]] constexpr auto raise(R const& r, operand_t<R, Element> const& x) {
  if constexpr (Element && lifts<R>) {
    return r.lift(x);
  } else {
    return x;
  }
}

/// The fold of one pair.
template <tutti::reduction R, bool LocalElement, bool ArrivingElement, bool ArrivingOnLeft, bool Finishes>
struct fold_pair {
  using local_type = operand_t<R, LocalElement>;
  using arriving_type = operand_t<R, ArrivingElement>;
  using result_type = made_t<R, Finishes>;

  static constexpr instruction_set widest = block_fold<R>::widest;
  static constexpr std::size_t own_block = block_fold<R>::elements;

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

  /// A block of them, if the reduction has a way of its own.
  template <instruction_set Set, std::size_t N>
  [[gnu::always_inline]] void block(result_type* to, local_type const* local, arriving_type const* arriving) const
    requires requires(R const& r, rank_type n) {
      block_fold<R>::template fold<Set, N, ArrivingOnLeft, Finishes>(r, to, local, arriving, n);
    }
  {
    block_fold<R>::template fold<Set, N, ArrivingOnLeft, Finishes>(reduction, to, local, arriving, ranks);
  }
};

/// The end of one element.
template <tutti::reduction R, bool FromElement>
struct finish_one {
  static constexpr instruction_set widest = block_fold<R>::widest;
  static constexpr std::size_t own_block = block_fold<R>::elements;

  R reduction;
  rank_type ranks;

  constexpr typename R::value_type operator()(operand_t<R, FromElement> const& x) const {
    return reduction.lower(raise<FromElement>(reduction, x), ranks);
  }

  template <instruction_set Set, std::size_t N>
  [[gnu::always_inline]] void block(typename R::value_type* to, operand_t<R, FromElement> const* from) const
    requires requires(R const& r, rank_type n) { block_fold<R>::template finish<Set, N>(r, to, from, n); }
  {
    block_fold<R>::template finish<Set, N>(reduction, to, from, ranks);
  }
};

/// The beginning of one element.
template <tutti::reduction R>
struct lift_one {
  static constexpr instruction_set widest = block_fold<R>::widest;

  R reduction;

  constexpr typename R::accumulator_type operator()(contribution_t<R> const& x) const { return reduction.lift(x); }
};

template <class T>
[[nodiscard]] inline bool aligned(void const* p) noexcept {
  return reinterpret_cast<std::uintptr_t>(p) % alignof(T) == 0;
}

/// Calls f with a run-time flag as a type; a flag that makes no difference is false.
template <bool Matters, class F>
constexpr void with_flag(bool flag, F const& f) {
  if constexpr (Matters) {
    if (flag) {
      f(std::true_type{});
      return;
    }
  }
  f(std::false_type{});
}

/// Folds n arriving elements or accumulators into n local ones:
///
///     acc = kind.arriving_on_left ? combine(arriving, local) : combine(local, arriving)
///     result[i] = kind.finishes ? lower(acc, ranks) : acc
///
/// `result` holds elements if the fold finishes, accumulators otherwise. It may be one of the operands if
/// both hold the same type; else it overlaps neither. The flags are looked at once a call; a
/// reduction that declares `lifts`, `lowers` or `symmetric` has no code for flags that change nothing.
///
/// @pre the three pointers are aligned for what they hold. @throws precondition_error otherwise
template <tutti::reduction R>
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
          expects(detail::aligned<local_type>(local) && detail::aligned<arriving_type>(arriving) &&
                      detail::aligned<result_type>(result),
                  "fold: operands must be aligned for their types, and an address of these is not; pass vectors of the "
                  "types");
          auto* const to = reinterpret_cast<result_type*>(result);
          auto const* const from = reinterpret_cast<arriving_type const*>(arriving);
          detail::run(pair{r, ranks}, n, to, reinterpret_cast<local_type const*>(local), from);
        });
      });
    });
  });
}

/// Begins a reduction before any fold: `to[i] = lift(from[i])`. `to` may be `from` itself if both hold the same type;
/// else they do not overlap.
///
/// @pre both pointers are aligned for what they hold. @throws precondition_error otherwise
template <tutti::reduction R>
void lift(R const& r, std::byte const* from, std::byte* to, std::size_t n) {
  using from_type = contribution_t<R>;
  using result_type = typename R::accumulator_type;
  expects(detail::aligned<from_type>(from) && detail::aligned<result_type>(to),
          "lift: operands must be aligned for their types, and an address of these is not; pass vectors of the types");
  detail::run(detail::lift_one<R>{r}, n, reinterpret_cast<result_type*>(to), reinterpret_cast<from_type const*>(from));
}

/// Ends a reduction that needs no fold any more: `to[i] = lower(from[i], ranks)`, lifting first if
/// `from` holds elements. `to` may be `from` itself if both hold the same type; else they do not
/// overlap. Copies if neither lift nor lower does anything.
///
/// @pre both pointers are aligned for what they hold. @throws precondition_error otherwise
template <tutti::reduction R>
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
      expects(detail::aligned<from_type>(from) && detail::aligned<result_type>(to),
              "finish: operands must be aligned for their types, and an address of these is not; pass vectors of the "
              "types");
      auto* const out = reinterpret_cast<result_type*>(to);
      detail::run(one{r, ranks}, n, out, reinterpret_cast<from_type const*>(from));
    });
  }
}

}  // namespace tutti::detail::reduction
