// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/memories.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/transport.hpp>

#include <array>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline engine {

/// What lets segments begin whose elements come from a device.
template <class Transport>
struct gate_of {
  struct type {};
};
template <stages_devices Transport>
struct gate_of<Transport> {
  using type = typename Transport::gate;
};

/// The gate of the operation under way, if it has one, and for each lane the segment on it and its memory.
template <class Gate>
struct gated_segments {
  Gate* by = nullptr;
  std::array<std::uint32_t, collective_lanes> number{};
  std::array<memories, collective_lanes> at{};
};

/// Where no operation has a gate.
struct no_gated_segments {};

}  // namespace tutti::detail::engine
