// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/extend/buffer.hpp>
#include <tutti/extend/reduction.hpp>
#include <tutti/extend/topology.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace tutti::inline v0_1_0 {

/// True if C is a communicator.
template <class C>
inline constexpr bool is_communicator = false;
/// True for communicators.
template <class Transport, rank_type N, class Trace>
inline constexpr bool is_communicator<communicator<Transport, N, Trace>> = true;

/// A communicator: a world, or a part of one made by `split`.
template <class C>
concept group = is_communicator<C>;

/// A topology whose schedules suit the reduction: any if it commutes, else the ones that keep rank order. A topology
/// that tells only at run time if it keeps rank order is checked by the operator, each time.
template <class Topology, class Op, class Reduction>
concept keeps_rank_order_for = topology<Topology> && reduction<Reduction> &&
                               (Reduction::commutative || Topology::keeps_rank_order || tells_rank_order<Topology, Op>);

/// A topology that sends raw contributions alone, if the reduction needs that: direct and star do.
template <class Topology, class Reduction>
concept sends_raw_contributions_for = topology<Topology> && reduction<Reduction> &&
                                      (!needs_raw_contributions<Reduction> || Topology::sends_raw_contributions);

namespace detail {

/// True for the stand-in of reductions that are known at run time (any_reduction.hpp). Operators check its demands in
/// each call.
template <class R>
inline constexpr bool is_any_reduction = false;

/// Placeholders for a missing argument of an operator, for one too many, and for a temporary communicator. Each has
/// its own error message.
struct missing_part {};
struct part_too_many {};
template <class Communicator>
struct temporary {};
template <class Communicator>
inline constexpr bool is_temporary = false;
template <class Communicator>
inline constexpr bool is_temporary<temporary<Communicator>> = true;

/// The communicator type among the arguments of an operator. No type if the argument is an operator, which is copied.
template <class C>
struct given_world {
  using type = C;
};
template <class C>
struct given_world<C&> : given_world<C> {};
template <class C>
  requires is_communicator<C>
struct given_world<C&> {
  using type = C;
};
template <class C>
  requires is_communicator<C>
struct given_world<C> {
  using type = temporary<C>;
};
template <class C>
  requires(!is_communicator<C> && requires(C& c) { c.world(); })
struct given_world<C> {};
template <class C>
using given_communicator = typename given_world<C>::type;

template <std::size_t Parts, class Topology = missing_part, class Reduction = missing_part, class... More>
struct operator_parts {
  using topology = std::conditional_t<Parts == 1 && !std::same_as<Reduction, missing_part>, part_too_many, Topology>;
  using reduction = std::conditional_t<sizeof...(More) != 0, part_too_many, Reduction>;
};
template <std::size_t Parts, class... Rest>
using given_topology = typename operator_parts<Parts, Rest...>::topology;
template <class... Rest>
using given_reduction = typename operator_parts<2, Rest...>::reduction;

/// The communicator that send and recv are constructed with. Any other argument is an error with a message.
template <class Communicator, class... More>
struct connection {
  static_assert(!is_temporary<Communicator>,
                "this communicator ends with the expression: give it a name first, as in auto world = ...;");
  static_assert(is_temporary<Communicator> || group<Communicator>,
                "send and recv are made of a communicator, a variable that is not const");
  static_assert(sizeof...(More) == 0, "send and recv are made of a communicator alone: no topology");
  using type = Communicator;
};
template <class C, class... More>
using connection_t = typename connection<given_communicator<C>, More...>::type;

/// True if an operator can be constructed with these arguments. If not, the first error of the compiler gives the
/// reason.
template <class Op, class Communicator, class Topology, class... Reduction>
[[nodiscard]] consteval bool can_run() {
  constexpr bool no_reduction = (std::same_as<Reduction, missing_part> || ...);
  constexpr bool more = std::same_as<Topology, part_too_many> || (std::same_as<Reduction, part_too_many> || ...);
  if constexpr (is_temporary<Communicator>) {
    static_assert(!is_temporary<Communicator>,
                  "this communicator ends with the expression: give it a name first, as in auto world = ...;");
    return false;
  } else if constexpr (!group<Communicator>) {
    constexpr bool is_satisfied = group<Communicator>;  // compilers explain a concept by further errors
    static_assert(is_satisfied,
                  "the first argument of an operator is a communicator, a variable that is not const; a topology comes "
                  "next, then a reduction if it combines: tutti::allreduce{world, tutti::ring{}, tutti::sum<float>{}}");
    return false;
  } else if constexpr (more) {
    static_assert(!more,
                  "an operator is made of a communicator, a topology and, if it combines, a reduction: here are more");
    return false;
  } else if constexpr (std::same_as<Topology, missing_part> || (no_reduction && tutti::reduction<Topology>)) {
    constexpr bool is_satisfied = tutti::topology<Topology>;
    static_assert(is_satisfied,
                  "the topology is missing, the second argument of an operator: tutti::allreduce{world, tutti::ring{}, "
                  "tutti::sum<float>{}}");
    return false;
  } else if constexpr (!tutti::topology<Topology>) {
    constexpr bool is_satisfied = tutti::topology<Topology>;
    static_assert(is_satisfied,
                  "the second argument of an operator is a topology, such as tutti::ring{}; a reduction comes third");
    return false;
  } else if constexpr (no_reduction) {
    static_assert(!no_reduction,
                  "the reduction is missing, the third argument of an operator that combines, such as "
                  "tutti::sum<float>{} or tutti::reduce_with<float>(function)");
    return false;
  } else if constexpr (!((tutti::reduction<Reduction> || is_any_reduction<Reduction>)&&...)) {
    constexpr bool is_satisfied = (tutti::reduction<Reduction> && ...);
    static_assert(is_satisfied,
                  "the third argument of an operator that combines is a reduction, such as tutti::sum<float>{} or "
                  "tutti::reduce_with<float>(function)");
    return false;
  } else {
    constexpr bool lacks = !offers<Topology, Op>;
    static_assert(!lacks || !std::same_as<Op, op::alltoall>, "this topology has no alltoall; direct and doubling have");
    static_assert(!lacks || !(std::same_as<Op, op::scan> || std::same_as<Op, op::exscan>),
                  "this topology has no scan or exscan; chain and doubling have both");
    static_assert(!lacks || !std::same_as<Op, op::allgather>,
                  "this topology has no allgather; butterfly, direct, doubling, ring and star have");
    static_assert(!lacks || !std::same_as<Op, op::reduce_scatter>,
                  "this topology has no reduce_scatter; butterfly, direct, ring and star have");
    static_assert(!lacks || !(std::same_as<Op, op::gather> || std::same_as<Op, op::scatter>),
                  "this topology has no gather or scatter; binary_tree, chain, direct, doubling and star have both");
    static_assert(!lacks || !std::same_as<Op, op::reduce>,
                  "this topology has no reduce; binary_tree, chain, direct, double_tree, doubling, ring and star have");
    static_assert(!lacks || !(std::same_as<Op, op::allreduce> || std::same_as<Op, op::broadcast>),
                  "this topology has no such operation; each one of tutti has allreduce and broadcast");
    constexpr bool in_rank_order =
        ((is_any_reduction<Reduction> || keeps_rank_order_for<Topology, Op, Reduction>)&&...);
    static_assert(in_rank_order,
                  "the reduction is not declared commutative, and this topology does not keep rank order: "
                  "add tutti::commutative to reduce_with, or take binary_tree");
    constexpr bool raw = ((is_any_reduction<Reduction> || sends_raw_contributions_for<Topology, Reduction>)&&...);
    static_assert(raw,
                  "the reduction needs the ranks' own contributions, and this topology sends partial results: "
                  "take direct or star");
    return !lacks && in_rank_order && raw;
  }
}

}  // namespace detail

/// The arguments of an operator of `Op`: a communicator; a topology that offers it; and, if it combines, a reduction
/// whose demands on rank order and raw contributions the topology satisfies. Other arguments are an error with a
/// message, even in a requires-expression: use the concepts above to test types.
template <class Op, class Communicator, class Topology, class... Reduction>
concept runs = detail::can_run<Op, Communicator, Topology, Reduction...>();

}  // namespace tutti
