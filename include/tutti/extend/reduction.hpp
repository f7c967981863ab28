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

/// The contributions of ranks to a reduction: elements, unless the reduction has a `contribution_type`. Contributions
/// of another type are reduced out of place only.
template <class R>
using contribution_t = typename detail::contribution_of<R>::type;

/// A function that combines contributions to a result: `lower(lift(x0) * lift(x1) * ... , n)`, where `*` is combine
/// and n the number of contributions: the number of ranks, but r + 1 for rank r of a scan, and r of an exscan. `lift`
/// makes an accumulator of a contribution, `lower` makes the result of the last accumulator. `identity()` is an
/// accumulator, and never lifted: in-network aggregators begin with it as it is.
///
/// Laws (test/laws/reduction.hpp), where == is an equality that the test is given:
///   - combine(identity(), a) == a == combine(a, identity());
///   - combine is associative, and commutative exactly if declared so;
///   - lower(lift(x), 1) == x if contributions are elements: a single contribution is its own result. The equality
///     allows for the rounding of `lift`, as in fixed_point_sum;
///   - the span kernels give the bits of the scalar functions.
///
/// `associative` is about bits, and declared, not deduced: it is false for sum<float>. Optional members speed up
/// kernels (detail/reduction/traits.hpp): `lifts`, `lowers` and `fuses` are true if they are not declared, `symmetric`
/// is false.
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

/// A reduction whose contributions and results have one type, so that it can run in place.
template <class R>
concept contributes_elements = reduction<R> && std::same_as<contribution_t<R>, typename R::value_type>;

/// A reduction whose accumulators are elements, so that it can run in the user's own memory.
template <class R>
concept accumulates_in_elements = reduction<R> && std::same_as<typename R::value_type, typename R::accumulator_type>;

/// The number of contributions that an accumulator of r can hold; no_rank: any. A reduction with a limit declares
/// `static constexpr std::uint32_t most_contributions`, or a member function if its arguments set the limit.
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

/// A reduction constructed with arguments. `settings()` is a hash of them, equal on ranks that gave the same
/// arguments.
template <class R>
concept has_own_settings = reduction<R> && requires(R const r) {
  { r.settings() } -> std::same_as<std::uint32_t>;
};

/// True if only contributions may be sent, no partial sums; false by default. A reduction declares `static constexpr
/// bool needs_raw_contributions = true` if its accumulators are larger than its elements, so that partial sums would
/// cost the bytes that small elements save.
template <reduction R>
inline constexpr bool needs_raw_contributions = [] {
  if constexpr (requires { R::needs_raw_contributions; }) {
    return static_cast<bool>(R::needs_raw_contributions);
  } else {
    return false;
  }
}();

/// The operation by which an in-network device replaces `combine`, in any order; `lift` and `lower` stay with the
/// ranks. A reduction declares `static constexpr network_operation in_network`; a derived reduction that combines
/// differently declares its own.
template <reduction R>
inline constexpr network_operation network_operation_of = [] {
  if constexpr (requires { R::in_network; }) {
    constexpr network_operation operation = R::in_network;
    constexpr bool of_floats = operation == network_operation::sum_float32 ||
                               operation == network_operation::max_float32 || operation == network_operation::update;
    constexpr bool of_integers = operation == network_operation::saturating_sum_int32;
    using accumulator = typename R::accumulator_type;
    static_assert(!of_floats || std::same_as<accumulator, float>, "the device's elements are float");
    static_assert(!of_integers || std::same_as<accumulator, std::int32_t>, "the device's elements are int32_t");
    return operation;
  } else {
    return network_operation::none;
  }
}();

}  // namespace tutti
