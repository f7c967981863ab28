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

/// The kind of a fold: the types of its operands and of its result.
struct fold_kind {
  bool local_is_element = false;     ///< the local operand is a contribution, to be lifted; else an accumulator
  bool arriving_is_element = false;  ///< the arriving operand is a contribution; else an accumulator
  bool arriving_on_left = false;     ///< combine(arriving, local); else combine(local, arriving)
  bool finishes = false;             ///< the result is lowered to an element; else it is an accumulator
};

template <tutti::reduction R, bool Element>
using operand_t = std::conditional_t<Element, contribution_t<R>, typename R::accumulator_type>;
template <tutti::reduction R, bool Finishes>
using result_t = std::conditional_t<Finishes, typename R::value_type, typename R::accumulator_type>;

/// Makes an accumulator of an operand.
template <bool Element, tutti::reduction R>
[[nodiscard]] constexpr auto raise(R const& r, operand_t<R, Element> const& x) {
  if constexpr (Element && lifts<R>) {
    return r.lift(x);
  } else {
    return x;
  }
}

/// Folds one pair of operands.
template <tutti::reduction R, bool LocalElement, bool ArrivingElement, bool ArrivingOnLeft, bool Finishes>
struct fold_pair {
  using local_type = operand_t<R, LocalElement>;
  using arriving_type = operand_t<R, ArrivingElement>;
  using result_type = result_t<R, Finishes>;

  static constexpr instruction_set widest = block_fold<R>::widest;
  static constexpr std::size_t own_block = block_fold<R>::elements;

  R reduction;  // a copy, so that compilers know that no store of a result changes it
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

  /// Folds a block, if the reduction specialises `block_fold`.
  template <instruction_set Set, std::size_t N>
  [[gnu::always_inline]] void block(result_type* target, local_type const* local, arriving_type const* arriving) const
    requires requires(R const& r, rank_type n) {
      block_fold<R>::template fold<Set, N, ArrivingOnLeft, Finishes>(r, target, local, arriving, n);
    }
  {
    block_fold<R>::template fold<Set, N, ArrivingOnLeft, Finishes>(reduction, target, local, arriving, ranks);
  }
};

/// Lowers one element.
template <tutti::reduction R, bool SourceIsElement>
struct finish_one {
  static constexpr instruction_set widest = block_fold<R>::widest;
  static constexpr std::size_t own_block = block_fold<R>::elements;

  R reduction;
  rank_type ranks;

  constexpr typename R::value_type operator()(operand_t<R, SourceIsElement> const& x) const {
    return reduction.lower(raise<SourceIsElement>(reduction, x), ranks);
  }

  template <instruction_set Set, std::size_t N>
  [[gnu::always_inline]] void block(typename R::value_type* target, operand_t<R, SourceIsElement> const* source) const
    requires requires(R const& r, rank_type n) { block_fold<R>::template finish<Set, N>(r, target, source, n); }
  {
    block_fold<R>::template finish<Set, N>(reduction, target, source, ranks);
  }
};

/// Lifts one element.
template <tutti::reduction R>
struct lift_one {
  static constexpr instruction_set widest = block_fold<R>::widest;

  R reduction;

  constexpr typename R::accumulator_type operator()(contribution_t<R> const& x) const { return reduction.lift(x); }
};

template <class T>
[[nodiscard]] inline bool is_aligned(void const* p) noexcept {
  return reinterpret_cast<std::uintptr_t>(p) % alignof(T) == 0;
}

/// Calls f with a run-time flag as a type. A flag that does not matter becomes false, which saves instantiations.
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
/// `result` holds elements if the fold finishes, accumulators otherwise. It may be one of the operands if both hold the
/// same type; else it overlaps neither. The flags are tested once a call. A reduction that declares `lifts`, `lowers`
/// or `symmetric` has no code for flags that do not matter.
///
/// @throws precondition_error if a pointer is not aligned for its type
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
          expects(detail::is_aligned<local_type>(local) && detail::is_aligned<arriving_type>(arriving) &&
                      detail::is_aligned<result_type>(result),
                  "fold: an operand is not aligned for its type; pass vectors of that type");
          auto* const target = reinterpret_cast<result_type*>(result);
          auto const* const source = reinterpret_cast<arriving_type const*>(arriving);
          detail::run(pair{r, ranks}, n, target, reinterpret_cast<local_type const*>(local), source);
        });
      });
    });
  });
}

/// Lifts contributions before any fold: `target[i] = lift(source[i])`. Target and source may be equal if they hold one
/// type; else they do not overlap.
///
/// @throws precondition_error if a pointer is not aligned for its type
template <tutti::reduction R>
void lift(R const& r, std::byte const* source, std::byte* target, std::size_t n) {
  using source_type = contribution_t<R>;
  using result_type = typename R::accumulator_type;
  expects(detail::is_aligned<source_type>(source) && detail::is_aligned<result_type>(target),
          "lift: an operand is not aligned for its type; pass vectors of that type");
  detail::run(detail::lift_one<R>{r}, n, reinterpret_cast<result_type*>(target),
              reinterpret_cast<source_type const*>(source));
}

/// Lowers accumulators after the last fold: `target[i] = lower(source[i], ranks)`. Lifts first if `source` holds
/// elements; copies if the reduction neither lifts nor lowers. Target and source may be equal if they hold one type;
/// else they do not overlap.
///
/// @throws precondition_error if a pointer is not aligned for its type
template <tutti::reduction R>
void finish(R const& r, bool source_is_element, std::byte const* source, std::byte* target, std::size_t n,
            rank_type ranks) {
  if constexpr (!lifts<R> && !lowers<R>) {
    if (source != target && n != 0) {
      std::memcpy(target, source, n * sizeof(typename R::value_type));
    }
  } else {
    detail::with_flag<lifts<R>>(source_is_element, [&](auto is_element) {
      using finisher = detail::finish_one<R, is_element>;
      using source_type = detail::operand_t<R, is_element>;
      using result_type = typename R::value_type;
      expects(detail::is_aligned<source_type>(source) && detail::is_aligned<result_type>(target),
              "finish: an operand is not aligned for its type; pass vectors of that type");
      auto* const result = reinterpret_cast<result_type*>(target);
      detail::run(finisher{r, ranks}, n, result, reinterpret_cast<source_type const*>(source));
    });
  }
}

}  // namespace tutti::detail::reduction
