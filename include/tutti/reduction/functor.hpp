// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/type_spelling.hpp>
#include <tutti/detail/reduction/number.hpp>
#include <tutti/extend/reduction.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <cstddef>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0 {

/// Declares that f(a, b) equals f(b, a). Topologies that do not keep rank order need it.
struct commutative_t {};

/// Declares that f(f(a, b), c) has the bits of f(a, f(b, c)).
struct associative_t {};

/// A string as a template argument.
template <std::size_t N>
struct label {
  char text[N] = {};  ///< the characters, and a zero

  /// Copies a literal.
  consteval label(char const (&literal)[N]) {
    for (std::size_t i = 0; i < N; ++i) {
      text[i] = literal[i];
    }
  }
  /// The characters without the zero.
  [[nodiscard]] constexpr std::string_view view() const noexcept { return {text, N - 1}; }
};

namespace detail {

template <char... C>
inline constexpr char characters[] = {C..., '\0'};

}  // namespace detail

/// Names and identifies a functor: ranks with different names get a mismatch error. A functor without a name is
/// identified by its type as the compiler spells it, which differs between compilers.
///
/// The template takes characters (compilers.md: Names in the type of a kernel).
template <char... Characters>
struct named_t {
  /// The name.
  static constexpr std::string_view text{detail::characters<Characters...>, sizeof...(Characters)};
};

namespace detail {

/// The text that tells a named function from the library's reduction of its name, and one that commutes from one that
/// does not.
[[nodiscard]] constexpr std::string_view function_spelling(bool commutes) noexcept {
  return commutes ? "function that commutes" : "function";
}
/// A type whose spelling tells functions that have no name apart.
template <class F, bool Commutes>
struct function_type {};

template <class P>
concept is_name = requires { P::text; };

template <label Text, std::size_t... Index>
[[nodiscard]] consteval named_t<Text.text[Index]...> name_of(std::index_sequence<Index...>) {
  return {};
}

}  // namespace detail

/// A declaration about a functor: `commutative`, `associative` or a name.
template <class P>
concept functor_property = std::same_as<P, commutative_t> || std::same_as<P, associative_t> || detail::is_name<P>;

/// A function that ranks can compare: its type identifies it, or it has a name. The type of a pointer to a function or
/// a std::function does not identify it. The values that a lambda has captured are not compared.
template <class F, class... Properties>
concept known_function =
    std::is_empty_v<F> || !std::is_constructible_v<bool, F const&> || (detail::is_name<Properties> || ...);

/// A function of two elements whose result converts to an element. It is copied, and called as const.
template <class F, class T>
concept combines_elements = std::copy_constructible<F> && requires(F const& f, T const& a, T const& b) {
  { f(a, b) } -> std::convertible_to<T>;
};

/// A function of the type that T is computed in, such as float for half. A function whose parameters are half is not
/// one: float does not convert to half implicitly.
template <class F, class T>
concept combines_widened =
    detail::narrow_number<T> && std::copy_constructible<F> && combines_elements<F, typename T::computed_in>;

/// The reduction by a user's function; `reduce_with` makes it.
///
/// Elements: T, a trivially copyable type (element.hpp).
/// Bits: if declared `associative`, one result over schedules that keep rank order, and over all if also `commutative`.
/// Otherwise the bits depend on the schedule, and are equal on every rank.
/// Cost: an element travels as itself; f is called once for each element of a combination.
template <element T, class F, functor_property... Properties>
  requires combines_elements<F, T> && known_function<F, Properties...>
class functor {
 public:
  /// The type of an element of the result, and of a contribution unless there is a `contribution_type`.
  using value_type = T;
  /// The type of partial results, in which contributions are combined.
  using accumulator_type = T;
  /// True if combine(a, b) equals combine(b, a), which topologies that do not keep rank order demand; declared, not
  /// guessed.
  static constexpr bool commutative = (std::same_as<Properties, commutative_t> || ...);
  /// True if (a * b) * c is a * (b * c), bit by bit; declared, not guessed.
  static constexpr bool associative = (std::same_as<Properties, associative_t> || ...);
  /// True if `lift` does more than convert.
  static constexpr bool lifts = false;
  /// True if `lower` changes anything.
  static constexpr bool lowers = false;
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = [] {
    std::string_view result = "functor";
    [[maybe_unused]] const auto use_name = [&]<class P>(P) {
      if constexpr (detail::is_name<P>) {
        result = P::text;
      }
    };
    (use_name(Properties{}), ...);
    return result;
  }();

  /// The text that tells this reduction from others of its name: by its declaration that f commutes, and by the
  /// spelling of the function's type if it has no name.
  [[nodiscard]] static std::string_view spelling() {
    if constexpr ((detail::is_name<Properties> || ...)) {
      return detail::function_spelling(commutative);
    } else {
      return detail::type_spelling<detail::function_type<F, commutative>>();
    }
  }

  /// Takes the function and its identity; see `reduce_with`.
  constexpr functor(F f, T const& identity) : f_(std::move(f)), identity_(identity) {}

  /// Copies function and identity.
  constexpr functor(functor const&) = default;
  /// Copies function and identity.
  constexpr functor& operator=(functor const&)
    requires std::is_copy_assignable_v<F>
  = default;
  /// Replaces the function by a copy: lambdas with captures can be copied, but not assigned.
  functor& operator=(functor const& other) noexcept
    requires(!std::is_copy_assignable_v<F> && std::is_nothrow_copy_constructible_v<F>)
  {
    if (this != &other) {
      f_.~F();
      ::new (static_cast<void*>(&f_)) F(other.f_);
      identity_ = other.identity_;
    }
    return *this;
  }

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] constexpr T identity() const { return identity_; }
  /// Makes an accumulator of a contribution.
  [[nodiscard]] constexpr T lift(T const& x) const { return x; }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] constexpr T combine(T const& a, T const& b) const { return static_cast<T>(f_(a, b)); }
  /// Makes an element of the result of the accumulator of all n ranks' contributions.
  [[nodiscard]] constexpr T lower(T const& a, rank_type) const { return a; }

 private:
  F f_;
  T identity_;
};

}  // namespace tutti
