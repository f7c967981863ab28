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

/// Declares to `reduce_with` that f(a, b) is f(b, a). Needed by topologies that cannot keep the order of ranks.
inline constexpr commutative_t commutative{};

/// Declares to `reduce_with` that f(f(a, b), c) has the bits of f(a, f(b, c)). Every schedule groups as suits it; this
/// says that the grouping cannot be seen in the result.
inline constexpr associative_t associative{};

/// Gives `reduce_with` a name for the function, as in tutti::named<"longest">: in errors and reports, and for ranks to
/// compare.
template <label Text>
inline constexpr auto named = detail::name_of<Text>(std::make_index_sequence<Text.view().size()>{});

namespace detail {

/// The reduction of T by f: in the type that T is computed in, if f is a function of that. All else is an error with a
/// sentence.
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
                "to give: give tutti::named<\"...\"> as well");
  if constexpr (!element<T> || !combines || !known_function<F, Properties...>) {
    return;
  } else if constexpr (combines_widened<F, T>) {
    using wide = typename T::computed_in;
    return rounded<T, functor<wide, F, Properties...>>(functor<wide, F, Properties...>(std::move(f), identity));
  } else {
    return functor<T, F, Properties...>(std::move(f), identity);
  }
}

}  // namespace detail

/// A reduction of elements of type T by f(a, b), where a comes from lower ranks than b:
///
///     auto longest = tutti::reduce_with<item>(pick_longer, tutti::associative, tutti::named<"longest">);
///
/// All ranks must give the same f: it is known by its name or, if it has none, by its type.
///
/// Nothing is assumed of f but that grouping does not change its meaning. What is declared
/// (`commutative`, `associative`, `named<"...">`) is believed: test it with test/laws/reduction.hpp.
/// No schedule uses the identity, which is T{} here.
///
/// For half and bfloat16 give a function of floats: it is called with widened operands, and what it returns
/// is rounded, by the fast kernels. A function of halves works, too, but slower.
///
/// Asking in a requires-expression whether a call compiles is an error where it does not: the concepts
/// `combines_elements`, `combines_widened` and `known_function` are for questions.
template <class T, class F, functor_property... Properties>
[[nodiscard]] constexpr auto reduce_with(F f, Properties...) {
  static_assert(std::default_initializable<std::remove_const_t<T>>,
                "elements without a T{} need an identity: reduce_with<T>(f, identity)");
  return detail::make_functor<T, Properties...>(std::move(f), T{});
}

/// A reduction with the identity of f, for code that asks for it, as the laws do.
template <class T, class F, functor_property... Properties>
[[nodiscard]] constexpr auto reduce_with(F f, T const& identity, Properties...) {
  return detail::make_functor<T, Properties...>(std::move(f), identity);
}

}  // namespace tutti
