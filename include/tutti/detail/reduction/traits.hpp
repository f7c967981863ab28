// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/reduction.hpp>

#include <concepts>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline reduction {

/// True unless lift(x) is x. A reduction declares `static constexpr bool lifts = false` if it is; accumulators and
/// contributions have one type then.
template <tutti::reduction R>
inline constexpr bool lifts = [] {
  if constexpr (requires { R::lifts; }) {
    static_assert(R::lifts || std::same_as<contribution_t<R>, typename R::accumulator_type>,
                  "lift(x) cannot be x if accumulators are not contributions");
    return static_cast<bool>(R::lifts);
  } else {
    return true;
  }
}();

/// True unless lower(a, n) is a for every n. A reduction declares `static constexpr bool lowers = false` if it is;
/// accumulators are elements then.
template <tutti::reduction R>
inline constexpr bool lowers = [] {
  if constexpr (requires { R::lowers; }) {
    static_assert(R::lowers || accumulates_in_elements<R>, "lower(a, n) cannot be a if accumulators are not elements");
    return static_cast<bool>(R::lowers);
  } else {
    return true;
  }
}();

/// True if combine(a, b) and combine(b, a) have the same bits once lowered, which is stricter than `commutative`. Such
/// a reduction declares `static constexpr bool symmetric = true`; it needs half the kernels.
template <tutti::reduction R>
inline constexpr bool symmetric = [] {
  if constexpr (requires { R::symmetric; }) {
    static_assert(!R::symmetric || R::commutative, "a symmetric reduction commutes");
    return static_cast<bool>(R::symmetric);
  } else {
    return false;
  }
}();

/// True if lift, combine or lower may add a product of floating-point numbers to a number. A compiler may fuse the two,
/// which rounds once instead of twice. A reduction without such a product declares `static constexpr bool fuses =
/// false`: it has the same bits on every processor.
template <tutti::reduction R>
inline constexpr bool fuses = [] {
  if constexpr (requires { R::fuses; }) {
    return static_cast<bool>(R::fuses);
  } else {
    return true;
  }
}();

/// True if lower(a, n) is a for all numbers but NaN. A reduction that declares `static constexpr bool lowers_nan_only =
/// true` is rounded to a narrow format once, after lower, and not before it as well.
template <tutti::reduction R>
inline constexpr bool lowers_nan_only = [] {
  if constexpr (requires { R::lowers_nan_only; }) {
    return static_cast<bool>(R::lowers_nan_only);
  } else {
    return !lowers<R>;
  }
}();

/// The text that tells a reduction from others of its name, or "". A reduction, or the one that it wraps, declares it
/// by `static std::string_view spelling()`.
template <class R>
[[nodiscard]] std::string_view spelling_of() {
  if constexpr (requires { R::spelling(); }) {
    return R::spelling();
  } else if constexpr (requires { typename R::wide_reduction; }) {
    return spelling_of<typename R::wide_reduction>();
  } else if constexpr (requires { typename R::narrow_reduction; }) {
    return spelling_of<typename R::narrow_reduction>();
  } else {
    return {};
  }
}

}  // namespace tutti::detail::reduction
