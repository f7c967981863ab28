// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/types.hpp>
#include <tutti/trace/concept.hpp>

#include <cstdint>

namespace tutti::nn::parameter_server {

/// Has what happens on a link told to the world's tracer, as if the world had carried it: peers by their ranks there,
/// operations and messages by numbers that neither the world nor another link gives.
template <tracer Trace>
class link_trace {
 public:
  static constexpr bool enabled = Trace::enabled;

  link_trace() = default;
  /// @param peer the other end, in the world
  /// @pre the world's tracer outlives the link
  link_trace(Trace& world, rank_type peer) noexcept : world_(&world), peer_(peer) {}

  [[nodiscard]] bool on() const noexcept { return world_ != nullptr && listens(*world_); }
  void record(event const& e) noexcept {
    event told = e;
    told.sequence |= (std::uint64_t{peer_} + 1) << 32;
    told.on.number |= std::uint32_t{1} << 31;
    told.peer = e.peer == no_rank ? no_rank : peer_;
    world_->record(told);
  }

 private:
  Trace* world_ = nullptr;
  rank_type peer_ = no_rank;
};

}  // namespace tutti::nn::parameter_server
