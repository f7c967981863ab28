// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/fold.hpp>
#include <tutti/extend/reduction.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

/// The laws of the reduction concept. Each function returns a complaint, or "". Samples must be rich enough to show
/// that a property that is not declared does not hold.
namespace laws {

/// Compares object representations; types with padding need another equality.
struct same_bits {
  template <class T>
  bool operator()(T const& a, T const& b) const {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
  }
};

/// The algebra. Results are compared after lowering, because a rank ends with lowered values. `equals(x, y)` compares
/// two lowered results; `restores(result, x)` is true if a single contribution x is recovered.
template <tutti::reduction R, class Equals = same_bits, class Restores = same_bits>
[[nodiscard]] std::string algebra(R const& r, std::span<typename R::value_type const> samples, Equals equals = {},
                                  Restores restores = {}) {
  using accumulator = typename R::accumulator_type;
  constexpr tutti::rank_type ranks[] = {1, 3};
  auto const equal = [&](accumulator const& a, accumulator const& b) {
    return std::ranges::all_of(ranks, [&](auto n) { return equals(r.lower(a, n), r.lower(b, n)); });
  };

  std::vector<accumulator> accumulators;
  for (auto const& x : samples) {
    if (!restores(r.lower(r.lift(x), 1), x)) {
      return "lower(lift(x), 1) != x";
    }
    accumulators.push_back(r.lift(x));
  }

  bool commutes = true;
  bool associates = true;
  for (accumulator const& a : accumulators) {
    if (!equal(r.combine(r.identity(), a), a) || !equal(r.combine(a, r.identity()), a)) {
      return "the identity changes something";
    }
    for (accumulator const& b : accumulators) {
      accumulator const ab = r.combine(a, b);
      commutes = commutes && equal(ab, r.combine(b, a));
      for (accumulator const& c : accumulators) {
        associates = associates && equal(r.combine(ab, c), r.combine(a, r.combine(b, c)));
      }
    }
  }
  if (commutes != static_cast<bool>(R::commutative)) {
    return commutes ? "commutes without saying so" : "does not commute";
  }
  if (associates != static_cast<bool>(R::associative)) {
    return associates ? "is associative without saying so" : "is not associative";
  }
  return {};
}

/// Reads an operand as an accumulator. If elements and accumulators have one type, only the flag distinguishes them.
template <tutti::reduction R, class T>
[[nodiscard]] typename R::accumulator_type accumulator_of(R const& r, [[maybe_unused]] bool element, T const& x) {
  if constexpr (tutti::accumulates_in_elements<R>) {
    return element ? r.lift(x) : x;
  } else if constexpr (std::is_same_v<T, typename R::value_type>) {
    return r.lift(x);
  } else {
    return x;
  }
}

/// Makes a result from an accumulator.
template <class T, tutti::reduction R>
[[nodiscard]] T result_of(R const& r, [[maybe_unused]] bool finishes, typename R::accumulator_type const& acc,
                          tutti::rank_type ranks) {
  if constexpr (tutti::accumulates_in_elements<R>) {
    return finishes ? r.lower(acc, ranks) : acc;
  } else if constexpr (std::is_same_v<T, typename R::value_type>) {
    return r.lower(acc, ranks);
  } else {
    return acc;
  }
}

/// `count` samples, or accumulators of two samples each.
template <class T, tutti::reduction R>
[[nodiscard]] std::vector<T> operands(R const& r, [[maybe_unused]] bool element,
                                      std::span<typename R::value_type const> samples, std::size_t count,
                                      std::size_t seed) {
  std::vector<T> result;
  for (std::size_t i = 0; i < count; ++i) {
    auto const& x = samples[(seed + i * i) % samples.size()];
    auto const two = [&] { return r.combine(r.lift(x), r.lift(samples[(seed + 2 * i) % samples.size()])); };
    if constexpr (tutti::accumulates_in_elements<R>) {
      result.push_back(element ? x : two());
    } else if constexpr (std::is_same_v<T, typename R::value_type>) {
      result.push_back(x);
    } else {
      result.push_back(two());
    }
  }
  return result;
}

/// Runs `kernel(place)` on elements [first, last) of `before`. True if these are then as expected and all others
/// unchanged.
template <class T, class Kernel, class Expected, class Equals>
[[nodiscard]] bool changes(std::vector<T> elements, std::size_t first, std::size_t last, Kernel kernel,
                           Expected expected, Equals equals) {
  std::vector<T> expected_elements = elements;
  for (std::size_t i = first; i < last; ++i) {
    expected_elements[i] = expected(i);
  }
  kernel(reinterpret_cast<std::byte*>(elements.data() + first));
  return std::ranges::equal(elements, expected_elements, equals);
}

/// True if one kind of fold equals the scalar functions for `n` elements that start `offset` elements into their
/// arrays, out of place and in place, and changes no other element.
template <class Local, class Arriving, class Result, tutti::reduction R, class Equals>
[[nodiscard]] bool fold_matches(R const& r, tutti::detail::fold_kind kind,
                                std::span<typename R::value_type const> samples, std::size_t n, std::size_t offset,
                                Equals equals) {
  constexpr tutti::rank_type ranks = 3;
  auto const local = operands<Local>(r, kind.local_is_element, samples, offset + n + 1, 0);
  auto const arriving = operands<Arriving>(r, kind.arriving_is_element, samples, offset + n + 1, 1);
  auto const result = operands<Result>(r, kind.finishes, samples, offset + n + 1, 2);
  auto const expected = [&](std::size_t i) {
    auto const x = accumulator_of(r, kind.local_is_element, local[i]);
    auto const y = accumulator_of(r, kind.arriving_is_element, arriving[i]);
    return result_of<Result>(r, kind.finishes, kind.arriving_on_left ? r.combine(y, x) : r.combine(x, y), ranks);
  };
  auto const* const source = reinterpret_cast<std::byte const*>(arriving.data() + offset);
  auto const apart = [&](std::byte* target) {
    tutti::detail::fold(r, kind, reinterpret_cast<std::byte const*>(local.data() + offset), source, target, n, ranks);
  };
  bool good = changes(result, offset, offset + n, apart, expected, equals);
  if constexpr (std::is_same_v<Local, Result>) {
    auto const in_place = [&](std::byte* target) { tutti::detail::fold(r, kind, target, source, target, n, ranks); };
    good = good && changes(local, offset, offset + n, in_place, expected, equals);
  }
  return good;
}

/// True if `finish` equals the scalar functions, as in fold_matches.
template <class From, tutti::reduction R, class Equals>
[[nodiscard]] bool finish_matches(R const& r, bool element, std::span<typename R::value_type const> samples,
                                  std::size_t n, std::size_t offset, Equals equals) {
  using value = typename R::value_type;
  constexpr tutti::rank_type ranks = 3;
  auto const source = operands<From>(r, element, samples, offset + n + 1, 0);
  auto const target = operands<value>(r, true, samples, offset + n + 1, 1);
  auto const expected = [&](std::size_t i) { return r.lower(accumulator_of(r, element, source[i]), ranks); };
  auto const apart = [&](std::byte* result) {
    tutti::detail::finish(r, element, reinterpret_cast<std::byte const*>(source.data() + offset), result, n, ranks);
  };
  bool good = changes(target, offset, offset + n, apart, expected, equals);
  if constexpr (std::is_same_v<From, value>) {
    auto const in_place = [&](std::byte* result) { tutti::detail::finish(r, element, result, result, n, ranks); };
    good = good && changes(source, offset, offset + n, in_place, expected, equals);
  }
  return good;
}

/// Checks all sixteen kinds of fold and both of finish, for n in 0..67 and starts aligned for the element only.
/// Unfinished results may differ in details that lower removes (the bits of a NaN), so `equals` compares lowered
/// results and `same_accumulator` the others.
template <tutti::reduction R, class Equals = same_bits, class SameAccumulator = Equals>
[[nodiscard]] std::string kernels(R const& r, std::span<typename R::value_type const> samples, Equals equals = {},
                                  SameAccumulator same_accumulator = {}) {
  using x = typename R::value_type;
  using acc = typename R::accumulator_type;
  auto const folds = [&](tutti::detail::fold_kind k, std::size_t n, std::size_t offset) {
    if (k.finishes) {
      return k.local_is_element      ? k.arriving_is_element ? fold_matches<x, x, x>(r, k, samples, n, offset, equals)
                                                             : fold_matches<x, acc, x>(r, k, samples, n, offset, equals)
                  : k.arriving_is_element ? fold_matches<acc, x, x>(r, k, samples, n, offset, equals)
                                     : fold_matches<acc, acc, x>(r, k, samples, n, offset, equals);
    }
    return k.local_is_element      ? k.arriving_is_element
                                         ? fold_matches<x, x, acc>(r, k, samples, n, offset, same_accumulator)
                                         : fold_matches<x, acc, acc>(r, k, samples, n, offset, same_accumulator)
                : k.arriving_is_element ? fold_matches<acc, x, acc>(r, k, samples, n, offset, same_accumulator)
                                   : fold_matches<acc, acc, acc>(r, k, samples, n, offset, same_accumulator);
  };
  for (std::size_t n = 0; n <= 67; ++n) {
    for (std::size_t offset : {0U, 1U, 3U}) {
      std::string const position =
          " of " + std::to_string(n) + " elements from element " + std::to_string(offset) + " on is wrong";
      for (unsigned bits = 0; bits < 16; ++bits) {
        tutti::detail::fold_kind const kind{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
        if (!folds(kind, n, offset)) {
          return "fold of kind " + std::to_string(bits) + position;
        }
      }
      if (!finish_matches<acc>(r, false, samples, n, offset, equals)) {
        return "finish of accumulators" + position;
      }
      if (!finish_matches<x>(r, true, samples, n, offset, equals)) {
        return "finish of elements" + position;
      }
    }
  }
  return {};
}

}  // namespace laws
