// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/trace.hpp>
#include <tutti/extend/types.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// Records the events of a channel with the world's tracer, as if the world had carried them: peers have their ranks
/// in the world; operations and messages have numbers that neither the world nor another channel uses.
template <tracer Trace>
class peer_channel_trace {
 public:
  static constexpr bool is_enabled = Trace::is_enabled;

  peer_channel_trace() = default;
  /// @param self, peer ranks of both ends in the world
  /// @pre the world's tracer outlives the channel
  peer_channel_trace(Trace& world, rank_type self, rank_type peer) noexcept
      : world_(&world), self_(self), peer_(peer) {}

  [[nodiscard]] bool is_on() const noexcept { return world_ != nullptr && listens(*world_); }
  void record(event const& e) noexcept {
    event world_event = e;
    world_event.number.sequence |= std::uint64_t{1} << 32;
    world_event.number.sender = in_world(e.number.sender);
    world_event.number.receiver = in_world(e.number.receiver);
    world_event.peer = e.peer == no_rank ? no_rank : peer_;
    world_->record(world_event);
  }

 private:
  /// The rank in the world. The lower of the two ranks is rank 0 on the channel.
  [[nodiscard]] rank_type in_world(rank_type r) const noexcept {
    return r == no_rank ? no_rank : (r == 0) == (self_ < peer_) ? self_ : peer_;
  }

  Trace* world_ = nullptr;
  rank_type self_ = no_rank;
  rank_type peer_ = no_rank;
};

}  // namespace tutti::nn::parameter_server::detail
