// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/request.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/engine/launcher.hpp>
#include <tutti/detail/engine/memories.hpp>
#include <tutti/detail/engine/pair_blocks.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/partition.hpp>
#include <tutti/extend/time.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace tutti::inline v0_1_0 {
namespace detail {

/// The topology and the payload of an operator, from its template arguments.
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

/// The part that all operators share: the communicator, the topology, and the settings of operations. `Parts` are the
/// topology and, if elements are combined, the reduction.
///
///     tutti::allreduce sum{world, best, tutti::sum<float>{}};  // best: tutti::automatic
///     sum.deadline(std::chrono::hours(2));                     // on all ranks
///     sum.segment(1 << 20);                                    // on all ranks
///     sum.label("layer 3");                                    // in errors and traces of this rank
///     std::puts(sum.explain(1 << 20).c_str());
///
/// A setting applies to operations that start after it, and to none that is under way. The operator may be destroyed
/// before its requests.
///
/// @pre all ranks have the same segment size when they start an operation
///
/// Cost: none for settings; memory for one blocking operation, and for the largest number of started ones so far.
/// Thread safety: as the communicator.
template <class Op, class Communicator, class... Parts>
class operator_base : detail::launcher_of<Op, Communicator, Parts...> {
  using launcher = detail::launcher_of<Op, Communicator, Parts...>;

 public:
  /// The communicator, by a handle of the operator's own: it lives as long as the operator.
  [[nodiscard]] Communicator& world() const noexcept { return launcher::world(); }

  /// The topology that runs: the given one, or an adaptation of one with in-network aggregators. If they cannot do the
  /// operation, it is its `without_aggregators()`; for reductions that lift or are known at run time it wraps the given
  /// one.
  [[nodiscard]] auto const& topology() const noexcept { return launcher::topology(); }

  /// The limit for an operation, counted on each rank from the time at which it begins to wait. By default that of the
  /// communicator at construction. With `no_deadline`, a rank that hangs is waited for without end.
  [[nodiscard]] duration deadline() const noexcept { return launcher::deadline(); }
  /// Sets the limit for an operation. To be set on all ranks: the first rank that reaches its limit ends the operation
  /// on all.
  /// @throws precondition_error if it is negative
  void deadline(duration limit) { launcher::deadline(limit); }

  /// The size of a segment in bytes; 0, the default: vectors are not cut, except as told below.
  [[nodiscard]] std::size_t segment() const noexcept { return launcher::segment(); }
  /// Cuts vectors into segments of at most this many bytes, several under way at once; 0: no cut. If
  /// blocks belong to ranks, as in reduce_scatter, gather and alltoall, every block is cut. If this is 0, a topology
  /// that picks its schedules, such as tutti::automatic, also picks the segments; and a partition with a block that is
  /// more than twice as long as an equal one is cut into segments that suit that block, such as 512 KiB for 8 MiB, in a
  /// gather, in a scatter, and over tutti::ring.
  void segment(std::size_t bytes) noexcept { launcher::segment(bytes); }

  /// The label of operations in errors, traces and the flight recorder; empty, the default: none.
  [[nodiscard]] std::string_view label() const noexcept { return launcher::label(); }
  /// Labels operations, as in "allreduce 'layer 3' (sum float32 x 1000, ring)", on this rank: other ranks may use other
  /// labels, and their errors have their own. It is copied; longer ones than 31 bytes are cut. Operations that
  /// `enqueue` puts into a stream have none.
  void label(std::string_view text) noexcept { launcher::label(text); }

  /// Describes the schedule and, where `segment` sets none, the segments for a vector of this many bytes, the reason,
  /// and the predicted times of the alternatives. For topologies that pick their schedules and have `explain`, such as
  /// tutti::automatic.
  [[nodiscard]] auto explain(std::size_t bytes) const
    requires requires(launcher const& l) { l.explain(bytes); }
  {
    return launcher::explain(bytes);
  }
  /// Describes schedule, segments and predicted times for blocks of any lengths, of elements of this many bytes. Times
  /// are those of a typical partition, whose longest block has about as large a share and whose other blocks are equal.
  ///
  ///     collect.explain(blocks, sizeof(float));
  ///
  /// @throws precondition_error if the partition is of another number of ranks
  [[nodiscard]] auto explain(partition const& blocks, std::size_t element_bytes) const
    requires requires(launcher const& l) { l.explain(blocks, element_bytes); }
  {
    return launcher::explain(blocks, element_bytes);
  }

 protected:
  /// Constructs the operator with its schedule and payload.
  operator_base(Communicator& world, typename detail::parts_of<Op, Parts...>::topology const& topology,
                typename detail::parts_of<Op, Parts...>::payload const& payload)
      : launcher(world, topology, payload) {}

  /// Starts an operation of `count` elements in these memories. `call_record` is the call, by which mismatched ranks
  /// are detected; `blocks` has the lengths of the blocks, null if they are equal.
  [[nodiscard]] request launch(Op op, typename detail::parts_of<Op, Parts...>::payload const& elements,
                               call const& call_record, detail::memories const& memory, std::size_t count,
                               detail::lengths_of<Op> const* blocks = nullptr) {
    return detail::access::make_request<request>(launcher::launch(op, elements, call_record, memory, count, blocks));
  }
  /// Makes room, in a call of several operations, for blocks of these lengths: `count_of(partition)` elements. If that
  /// fails, the epoch fails, because peers wait for the next operation.
  template <class T, class F>
  [[nodiscard]] gathered_blocks<T> make_room(std::span<std::size_t const> lengths, F count_of) {
    return detail::prepare_next(detail::access::state(world()), [&] {
      gathered_blocks<T> room{.elements = {}, .blocks = partition(lengths)};
      room.elements.resize(count_of(room.blocks));
      return room;
    });
  }
  using launcher::launch_in_stream;
  using launcher::run;
};

}  // namespace tutti
