// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/reduction_entry.hpp>
#include <tutti/extend/topology.hpp>
#include <tutti/extend/transport.hpp>

#include <concepts>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::device {

/// Puts operations into streams of a device, with kernels that work in each other's memory. Defined by the transport
/// (cuda/detail/device/launcher.hpp).
template <class Communicator, class Topology, class Op, class Payload>
class launcher;
/// Puts operations into streams of a device, with elements copied through host memory
/// (cuda/detail/device/staged_launcher.hpp).
template <class Communicator, class Topology, class Op, class Payload>
class staged_launcher;

}  // namespace tutti::detail::device

namespace tutti::inline v0_1_0::detail::inline engine {

/// True if operations of this kind can be put into a stream of a device.
template <class Op>
inline constexpr bool runs_on_devices =
    std::same_as<Op, op::allreduce> || std::same_as<Op, op::reduce> || std::same_as<Op, op::broadcast> ||
    std::same_as<Op, op::reduce_scatter> || std::same_as<Op, op::allgather>;

/// The launcher for streams of devices, or an empty type: if Op does not run on devices, the transport has none, the
/// schedule depends on the length, or the reduction is known at run time.
template <class Communicator, class Topology, class Op, class Payload>
struct device_launcher {
  struct type {
    type(Communicator const&, Topology const&, Payload const&) noexcept {}
  };
};
template <class Communicator, class Topology, class Op, class Payload>
  requires(maps_devices<typename Communicator::transport_type> && runs_on_devices<Op> &&
           !chooses_schedule<Topology, Op> && !is_known_at_run_time<Payload>)
struct device_launcher<Communicator, Topology, Op, Payload> {
  using type = device::launcher<Communicator, Topology, Op, Payload>;
};
template <class Communicator, class Topology, class Op, class Payload>
  requires(stages_devices<typename Communicator::transport_type> && runs_on_devices<Op> &&
           !chooses_schedule<Topology, Op> && !is_known_at_run_time<Payload>)
struct device_launcher<Communicator, Topology, Op, Payload> {
  using type = device::staged_launcher<Communicator, Topology, Op, Payload>;
};

/// True if operations over this communicator can be put into such a stream.
template <class Communicator, class Topology, class Op, class Stream>
concept enqueues =
    has_devices<typename Communicator::transport_type> && runs_on_devices<Op> && !chooses_schedule<Topology, Op> &&
    std::same_as<typename Communicator::transport_type::stream_type, Stream>;

}  // namespace tutti::detail::engine
