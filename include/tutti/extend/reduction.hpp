// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/element.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

namespace tutti::inline v0_1_0 {

namespace detail {

template <class R>
struct contribution_of {};
template <class R>
  requires(
      requires { typename R::value_type; } && !requires { typename R::contribution_type; })
struct contribution_of<R> {
  using type = typename R::value_type;
};
template <class R>
  requires requires { typename R::contribution_type; }
struct contribution_of<R> {
  using type = typename R::contribution_type;
};

}  // namespace detail

/// What each rank contributes to a reduction: elements, as in the result, unless the reduction has a
/// `contribution_type`. Those of another type are reduced out of place only.
template <class R>
using contribution_t = typename detail::contribution_of<R>::type;

/// How contributions become a result: `lower(lift(x0) * lift(x1) * ... , n)`, where `*` is combine
/// and n the number of ranks.
///
/// Laws (test/laws/reduction.hpp), with the equality the reduction declares:
///   - combine(identity(), a) == a == combine(a, identity());
///   - combine is associative, commutative exactly if declared so;
///   - lower(lift(x), 1) == x, if contributions are elements;
///   - the span kernels give the bits that the scalar functions give.
///
/// `associative` is about bits, and declared, not guessed: sum<float> says false.
template <class R>
concept reduction = std::copyable<R> &&
                    requires(R const r, contribution_t<R> const x, typename R::accumulator_type const a, rank_type n) {
                      requires element<contribution_t<R>>;
                      requires element<typename R::value_type>;
                      requires element<typename R::accumulator_type>;
                      { R::name } -> std::convertible_to<std::string_view>;
                      { R::commutative } -> std::convertible_to<bool>;
                      { R::associative } -> std::convertible_to<bool>;
                      { r.identity() } -> std::same_as<typename R::accumulator_type>;
                      { r.lift(x) } -> std::same_as<typename R::accumulator_type>;
                      { r.combine(a, a) } -> std::same_as<typename R::accumulator_type>;
                      { r.lower(a, n) } -> std::same_as<typename R::value_type>;
                    };

/// Contributions and results have one type, so a reduction can run in place.
template <class R>
concept contributes_elements = reduction<R> && std::same_as<contribution_t<R>, typename R::value_type>;

/// Accumulators fit where elements are, so a reduction can run in the user's own memory.
template <class R>
concept accumulates_in_elements = reduction<R> && std::same_as<typename R::value_type, typename R::accumulator_type>;

/// How many contributions an accumulator of r can hold. A reduction for which that is less than any number of ranks
/// says so with `static constexpr std::uint32_t most_contributions` or, if it was made for as many, with a member
/// function.
template <reduction R>
[[nodiscard]] constexpr rank_type most_contributions([[maybe_unused]] R const& r) {
  if constexpr (requires { r.most_contributions(); }) {
    return r.most_contributions();
  } else if constexpr (requires { R::most_contributions; }) {
    return rank_type{R::most_contributions};
  } else {
    return no_rank;
  }
}

/// A reduction that is made with arguments, of which `settings()`, a hash, tells whether the ranks gave the same.
template <class R>
concept has_own_settings = reduction<R> && requires(R const r) {
  { r.settings() } -> std::same_as<std::uint32_t>;
};

/// Whether only contributions may travel, and no accumulators to be combined on: a reduction says so with
/// `static constexpr bool needs_raw_contributions = true` if its accumulators would undo what its elements are for.
template <reduction R>
inline constexpr bool needs_raw_contributions = [] {
  if constexpr (requires { R::needs_raw_contributions; }) {
    return static_cast<bool>(R::needs_raw_contributions);
  } else {
    return false;
  }
}();

/// What a device in the network is asked to do with accumulators: what the ranks would do with `combine`, in some
/// order. Ranks do what `lift` and `lower` do. A reduction says so with `static constexpr network_operation
/// in_network`, and one that derives from it and combines otherwise says so again.
template <reduction R>
inline constexpr network_operation network_operation_of = [] {
  if constexpr (requires { R::in_network; }) {
    constexpr network_operation asked = R::in_network;
    constexpr bool of_floats = asked == network_operation::sum_float32 || asked == network_operation::max_float32 ||
                               asked == network_operation::update;
    constexpr bool of_integers = asked == network_operation::saturating_sum_int32;
    using given = typename R::accumulator_type;
    static_assert(!of_floats || std::same_as<given, float>, "the device's elements are float");
    static_assert(!of_integers || std::same_as<given, std::int32_t>, "the device's elements are int32_t");
    return asked;
  } else {
    return network_operation::none;
  }
}();

}  // namespace tutti
