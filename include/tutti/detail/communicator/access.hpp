// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/rank_state.hpp>

#include <utility>

namespace tutti::inline v0_1_0::detail::inline communicator {

class operation_handle;

/// Opens to the library what users have no use for, and public classes do not show: of a communicator the operations
/// under way, the numbers of flows and messages, progress, and the event loop that drives it; of a rendezvous of some
/// of its members, its state; and the making of requests.
struct access {
  /// The state of this rank: a rank_state, whatever the types of transport, extent and trace. Of a rank that does
  /// nothing but run segments, only what these need.
  /// @throws precondition_error if the communicator is none
  template <class Communicator>
  [[nodiscard]] static auto& state(Communicator const& world) {
    return world.here();
  }

  /// The state, at this rank, of the communicator whose members meet. Only a `group_rendezvous` has one.
  template <class Meet>
  [[nodiscard]] static auto whole(Meet const& meet) -> decltype(meet.whole()) {
    return meet.whole();
  }

  /// Makes a request of an operation that an operator has started.
  template <class Request>
  [[nodiscard]] static Request own(operation_handle&& started) noexcept {
    return Request(std::move(started));
  }
};

}  // namespace tutti::detail::communicator
