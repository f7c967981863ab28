// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/number.hpp>
#include <tutti/detail/reduction/rounded.hpp>
#include <tutti/extend/element.hpp>
#include <tutti/reduction/functor.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0 {

/// Declares to `reduce_with` and `any_reduction` that f(a, b) equals f(b, a). Topologies that do not keep rank order
/// need it.
inline constexpr commutative_t commutative{};

/// Declares to `reduce_with` that f(f(a, b), c) has the bits of f(a, f(b, c)). Every schedule groups in its own way;
/// this says that the grouping does not change the result.
inline constexpr associative_t associative{};

/// Gives `reduce_with` a name for the function, as in tutti::function_name<"longest">. Errors and reports show it, and
/// ranks compare it.
template <label Text>
inline constexpr auto function_name = detail::name_of<Text>(std::make_index_sequence<Text.view().size()>{});

namespace detail {

/// The reduction of T by f, in the type that T is computed in if f is a function of that type. Wrong arguments fail a
/// static_assert.
template <class T, functor_property... Properties, class F>
[[nodiscard]] constexpr auto make_functor(F f, T const& identity) {
  constexpr bool combines = combines_elements<F, T> || combines_widened<F, T>;
  static_assert(element<T> || std::is_trivially_copyable_v<T>,
                "these elements are not trivially copyable, such as std::string: what travels are bytes");
  static_assert(element<T> || !std::is_trivially_copyable_v<T>,
                "the elements of a reduction are objects that are not const, aligned to 16 bytes or less");
  static_assert(std::copy_constructible<F>, "this function cannot be copied, and copies of it are called");
  static_assert(combines || !element<T> || !std::copy_constructible<F>,
                "this function does not combine two elements: f(a, b) of two constant elements, with f constant, must "
                "give an element");
  static_assert(!combines || known_function<F, Properties...>,
                "the type of a pointer to a function, or of a std::function, does not say which function all ranks are "
                "to give: give tutti::function_name<\"...\"> as well");
  if constexpr (!element<T> || !combines || !known_function<F, Properties...>) {
    return;
  } else if constexpr (combines_widened<F, T>) {
    using wide = typename T::computed_in;
    return rounding_reduction<T, functor<wide, F, Properties...>>(
        functor<wide, F, Properties...>(std::move(f), identity));
  } else {
    return functor<T, F, Properties...>(std::move(f), identity);
  }
}

}  // namespace detail

/// A reduction of elements of type T by f(a, b), where a comes from lower ranks than b:
///
///     auto longest = tutti::reduce_with<item>(pick_longer, tutti::associative, tutti::function_name<"longest">);
///
/// The maximum of absolute values, for example. `std::fmax` leaves NaN out, whichever operand it is; `std::max` would
/// not be commutative then.
///
///     auto max_abs = tutti::reduce_with<float>(
///         [](float a, float b) { return std::fmax(std::abs(a), std::abs(b)); },
///         tutti::commutative, tutti::associative, tutti::function_name<"max_abs">);
///
/// A world of one rank combines nothing, so its result is its contribution: take absolute values before the call if
/// that matters. A reduction that converts every contribution is a class with `lift` (see the concept `reduction`).
///
/// All ranks must give the same f; ranks compare its name or, without a name, its type, and if it is declared
/// `commutative`.
///
/// f must give an equivalent result for any grouping. Declarations (`commutative`, `associative`) are not checked: test
/// them with test/laws/reduction.hpp. No schedule of ranks uses the identity, T{}.
///
/// For half and bfloat16 give a function of floats: the fast kernels widen its operands and round its result. A
/// function of halves is slower.
///
/// A requires-expression with an invalid call is a hard error; use `combines_elements`, `combines_widened` and
/// `known_function` instead.
template <class T, class F, functor_property... Properties>
[[nodiscard]] constexpr auto reduce_with(F f, Properties...) {
  static_assert(std::default_initializable<std::remove_const_t<T>>,
                "elements without a T{} need an identity: reduce_with<T>(f, identity)");
  return detail::make_functor<T, Properties...>(std::move(f), T{});
}

/// A reduction with an identity of f, for code that calls `identity()`, such as test/laws.
template <class T, class F, functor_property... Properties>
[[nodiscard]] constexpr auto reduce_with(F f, T const& identity, Properties...) {
  return detail::make_functor<T, Properties...>(std::move(f), identity);
}

}  // namespace tutti
