// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/request.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/engine/launcher.hpp>
#include <tutti/detail/engine/memories.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/time.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0 {
namespace detail {

/// The schedule and the elements of an operator that is made of a topology and, where it combines, a reduction.
template <class Op, class... Parts>
struct parts_of;
template <class Op, class Topology>
struct parts_of<Op, Topology> {
  using topology = Topology;
  using payload = moving;
};
template <class Op, class Topology, class Reduction>
struct parts_of<Op, Topology, Reduction> {
  using topology = Topology;
  using payload = combining<Reduction>;
};

template <class Op, class Communicator, class... Parts>
using launcher_of =
    launcher<Communicator, typename parts_of<Op, Parts...>::topology, Op, typename parts_of<Op, Parts...>::payload>;

}  // namespace detail

/// Holds what every operator has beside its calls: the communicator and the topology that it was made of, and the
/// settings of the operations that it begins. `Parts` are the topology and, where elements are combined, the reduction.
///
///     tutti::allreduce sum{world, best, tutti::sum<float>{}};  // best: tutti::automatic
///     sum.deadline(std::chrono::hours(2));                     // on all ranks
///     sum.segment(1 << 20);                                    // on all ranks
///     std::puts(sum.explain(1 << 20).c_str());
///
/// A setting applies to operations that begin after it, and to no operation that is under way. The operator may be
/// destroyed before its requests.
///
/// @pre all ranks have the same segment size when they begin an operation
///
/// Cost: none for settings; memory for one blocking operation, and for as many started ones as were under way at once.
/// Thread safety: that of the communicator.
template <class Op, class Communicator, class... Parts>
class operator_base : detail::launcher_of<Op, Communicator, Parts...> {
  using launcher = detail::launcher_of<Op, Communicator, Parts...>;

 public:
  /// The communicator, under a name of the operator's own: it lives as long as the operator.
  [[nodiscard]] Communicator& world() const noexcept { return launcher::world(); }

  /// The topology that runs: the given one, or the given one `without_helpers()` where no helper can do the operation.
  [[nodiscard]] auto const& topology() const noexcept { return launcher::topology(); }

  /// The time that an operation may take, counted on each rank from when it begins to wait. That of the communicator
  /// when the operator was made, unless set. With `no_deadline` a rank that hangs is waited for without end.
  [[nodiscard]] duration deadline() const noexcept { return launcher::deadline(); }
  /// Sets the time that an operation may take: on all ranks, for the first one that reaches its limit ends the
  /// operation on all.
  /// @throws precondition_error if it is negative
  void deadline(duration limit) { launcher::deadline(limit); }

  /// The size of a segment in bytes; 0: vectors are not cut, the default.
  [[nodiscard]] std::size_t segment() const noexcept { return launcher::segment(); }
  /// Cuts vectors into segments of at most this many bytes, several of which are under way at once. Where blocks belong
  /// to ranks, as in reduce_scatter, gather and alltoall, every block is cut. 0: no cut. A topology that picks its
  /// schedules, such as tutti::automatic, also picks the segments where this is 0.
  void segment(std::size_t bytes) noexcept { launcher::segment(bytes); }

  /// The schedule and the segments that a vector of this many bytes gets, the reason, and the predicted times of the
  /// others, in words. For topologies that pick their schedules, such as tutti::automatic.
  [[nodiscard]] auto explain(std::size_t bytes) const
    requires requires(launcher const& l) { l.explain(bytes); }
  {
    return launcher::explain(bytes);
  }

 protected:
  /// Takes the schedule and the elements, as the operator makes them of its arguments.
  operator_base(Communicator& world, typename detail::parts_of<Op, Parts...>::topology const& topology,
                typename detail::parts_of<Op, Parts...>::payload const& payload)
      : launcher(world, topology, payload) {}

  /// Starts an operation of `count` elements in these memories. `what` is the call, by which ranks that call different
  /// things are found.
  [[nodiscard]] request launch(Op op, typename detail::parts_of<Op, Parts...>::payload const& elements,
                               call const& what, detail::memories const& memory, std::size_t count) {
    return detail::access::own<request>(launcher::launch(op, elements, what, memory, count));
  }
  using launcher::put;
  using launcher::run;
};

}  // namespace tutti
