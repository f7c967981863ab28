// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/rank_state.hpp>

#include <utility>

namespace tutti::inline v0_1_0::detail::inline communicator {

class operation_handle;

/// Gives the library access to private parts of public classes: a communicator's state (started operations, flow
/// numbers, progress, event loop), the state behind a group's rendezvous, and the constructor of requests.
struct access {
  /// The state of this rank, a rank_state for all transports, extents and traces. A communicator that only runs
  /// segments has a smaller one.
  /// @throws precondition_error if the communicator is empty
  template <class Communicator>
  [[nodiscard]] static auto& state(Communicator const& world) {
    return world.get_state();
  }

  /// The state, on this rank, of the communicator whose members meet. Only a `group_rendezvous` has one.
  template <class Meet>
  [[nodiscard]] static auto whole(Meet const& meet) -> decltype(meet.whole()) {
    return meet.whole();
  }

  /// Makes a handle that aborts the world of a communicator.
  template <class Handle>
  [[nodiscard]] static Handle make_abort_handle(rank_state const& state) noexcept {
    return Handle(state.kin->get_family());
  }

  /// Makes a request from a started operation.
  template <class Request>
  [[nodiscard]] static Request make_request(operation_handle&& operation) noexcept {
    return Request(std::move(operation));
  }
};

}  // namespace tutti::detail::communicator
