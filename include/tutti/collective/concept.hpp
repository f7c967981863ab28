// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/buffer.hpp>
#include <tutti/communicator.hpp>
#include <tutti/reduction/concept.hpp>
#include <tutti/topology/concept.hpp>

#include <type_traits>

namespace tutti {

template <class C>
inline constexpr bool is_communicator = false;
template <class Transport, rank_type N, class Trace>
inline constexpr bool is_communicator<communicator<Transport, N, Trace>> = true;

/// A world, or a part of one made by `split`.
template <class C>
concept group = is_communicator<C>;

/// The topology combines contributions in an order that the reduction can stand: any, if it
/// commutes; rank order otherwise. Where that is known only when the program runs, the operator asks each time.
template <class Topology, class Op, class Reduction>
concept keeps_order_for = topology<Topology> && reduction<Reduction> &&
                          (Reduction::commutative || Topology::keeps_order || tells_order<Topology, Op>);

/// The topology sends raw contributions alone, if the reduction needs that: direct and star do.
template <class Topology, class Reduction>
concept sends_raw_contributions_for = topology<Topology> && reduction<Reduction> &&
                                      (!needs_raw_contributions<Reduction> || Topology::sends_raw_contributions);

}  // namespace tutti
