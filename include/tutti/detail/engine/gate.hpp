// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/memories.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/transport.hpp>

#include <array>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline engine {

/// The type of a transport's gate, which admits segments once their elements have come from a device; else empty.
template <class Transport>
struct gate_of {
  struct type {};
};
template <stages_devices Transport>
struct gate_of<Transport> {
  using type = typename Transport::gate;
};

/// The gate of the current operation, or null, and for each lane the segment on it and its memory.
template <class Gate>
struct gate_state {
  Gate* gate = nullptr;
  std::array<std::uint32_t, collective_lanes> number{};
  std::array<memories, collective_lanes> memory{};
};

/// Stands in for gate_state if the transport has no gates.
struct no_gate_state {};

}  // namespace tutti::detail::engine
