// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/asynchronous.hpp>
#include <tutti/collective/concept.hpp>
#include <tutti/collective/launcher.hpp>
#include <tutti/collective/payload.hpp>

namespace tutti {

/// No rank leaves before every rank has entered: an allreduce of nothing.
///
///     tutti::barrier meet{world, tutti::doubling{}};
///     meet();
///
/// @throws error
/// Cost: the rounds of the topology's allreduce. Thread safety: that of the communicator.
template <group Communicator, offers<op::allreduce> Topology>
class barrier : public launcher<Communicator, Topology, op::allreduce, moving>,
                public asynchronous<barrier<Communicator, Topology>> {
 public:
  barrier(Communicator& world, Topology topology)
      : launcher<Communicator, Topology, op::allreduce, moving>(world, topology, {1}) {}

  void operator()() { this->run({}, {1}, what, memory(), 0); }
  [[nodiscard]] request start() { return this->launch({}, {1}, what, memory(), 0); }

 private:
  static constexpr call what = make_call(operation_kind::barrier, "", "", Topology::name);

  /// One address for all three memories, nothing of which is used.
  memories memory() noexcept { return {.input = &nothing_, .work = &nothing_, .output = &nothing_}; }

  std::byte nothing_{};
};

}  // namespace tutti
