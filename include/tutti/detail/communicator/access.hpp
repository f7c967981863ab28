// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/rank_state.hpp>

namespace tutti::inline v0_1_0::detail::inline communicator {

/// Opens a communicator to the library: operations that are under way, numbers of flows and messages, progress, and the
/// event loop that drives it. Users have no use for them, so `communicator` does not show them.
struct access {
  /// The state of this rank: a rank_state, whatever the types of transport, extent and trace. Of a rank that does
  /// nothing but run segments, only what these need.
  /// @throws precondition_error if the communicator is none
  template <class Communicator>
  [[nodiscard]] static auto& state(Communicator const& world) {
    return world.here();
  }
};

}  // namespace tutti::detail::communicator
