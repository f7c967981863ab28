// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/reduction.hpp>

#include <concepts>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline reduction {

/// Whether lift does anything. A reduction says `static constexpr bool lifts = false` if lift(x) is x;
/// accumulators are contributions then.
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

/// Whether lower does anything. A reduction says `static constexpr bool lowers = false` if
/// lower(a, n) is a, for every n; accumulators are elements then.
template <tutti::reduction R>
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
template <tutti::reduction R>
inline constexpr bool symmetric = [] {
  if constexpr (requires { R::symmetric; }) {
    static_assert(!R::symmetric || R::commutative, "a symmetric reduction commutes");
    return static_cast<bool>(R::symmetric);
  } else {
    return false;
  }
}();

/// Whether a product of floating-point numbers is added to something in lift, combine or lower. A compiler may fuse
/// the two, and so round once instead of twice, if it compiles for a processor that can. A reduction that
/// says `static constexpr bool fuses = false` may be compiled for any: its bits are the same.
template <tutti::reduction R>
inline constexpr bool fuses = [] {
  if constexpr (requires { R::fuses; }) {
    return static_cast<bool>(R::fuses);
  } else {
    return true;
  }
}();

/// Whether lower(a, n) is a for everything but NaN. A reduction that says `static constexpr bool lowers_nan_only =
/// true` may be rounded to a narrow format once, after lower, instead of before it, too.
template <tutti::reduction R>
inline constexpr bool lowers_nan_only = [] {
  if constexpr (requires { R::lowers_nan_only; }) {
    return static_cast<bool>(R::lowers_nan_only);
  } else {
    return !lowers<R>;
  }
}();

/// What tells a reduction from others of its name, if its name does not: it says so, or what it is made of does, with
/// `static std::string_view spelling()`.
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
