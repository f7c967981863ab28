// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/asynchronous.hpp>
#include <tutti/collective/concept.hpp>
#include <tutti/collective/operator_base.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/collective/arguments.hpp>

namespace tutti::inline v0_1_0 {

/// No rank leaves before every rank has entered: an allreduce without elements.
///
///     tutti::barrier meet{world, tutti::doubling{}};
///     meet();
///
/// Shape: no elements.
///
/// @pre every rank calls it at the same point in its sequence of operations
/// @throws error like all operations
///
/// Cost: the rounds of the topology's schedule for op::allreduce, in messages without elements.
/// Thread safety: as the communicator.
template <class Communicator, class Topology>
  requires runs<op::allreduce, Communicator, Topology>
class barrier : public operator_base<op::allreduce, Communicator, Topology>,
                public asynchronous<barrier<Communicator, Topology>>,
                private detail::barrier_calls {
  using base = operator_base<op::allreduce, Communicator, Topology>;
  using calls = detail::barrier_calls;

 public:
  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  barrier(Communicator& world, Topology topology) : base(world, topology, {1}) {}

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  void operator()() { this->run({}, {1}, call_record, memory(), 0); }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  [[nodiscard]] request start() { return this->launch({}, {1}, call_record, memory(), 0); }

  using calls::operator();
  using calls::start;

 private:
  static constexpr call call_record = make_call(operation_kind::barrier, "", "", Topology::name);

  /// One address for all three memories; it is never accessed.
  detail::memories memory() noexcept {
    return {.input = &placeholder_, .work = &placeholder_, .output = &placeholder_};
  }

  std::byte placeholder_{};
};

template <class C, class... Rest>
barrier(C&&, Rest...) -> barrier<detail::given_communicator<C>, detail::given_topology<1, Rest...>>;

}  // namespace tutti
