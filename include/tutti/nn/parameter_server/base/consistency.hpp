// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::nn::parameter_server {

/// A worker's clock: the number of steps that it has pushed.
using clock_value = std::uint64_t;

/// The largest distance between workers, and the side that initiates the sending of weights.
///
/// A worker that has pushed c steps reads weights that include all steps of all others before c - staleness: when it
/// reads, it is at most `staleness` clocks ahead of the slowest worker (Ho et al., "More effective distributed ML via
/// a stale synchronous parallel parameter server", NIPS 2013). Unbounded is asynchronous (Dean et al., "Large scale
/// distributed deep networks", NIPS 2012). With 0 the pushes of a clock are collected and make one step, in the order
/// of the workers: synchronous training, with equal bits from run to run. Otherwise each push is a step as soon as it
/// arrives.
struct consistency {
  static constexpr clock_value no_bound = UINT64_MAX;  ///< no bound

  clock_value staleness = 0;  ///< number of clocks that a worker may be ahead of the slowest
  /// True: servers send a piece's new weights to a worker without a request, as soon as it may have them.
  bool server_sends = false;
  /// True: after each epoch all workers pause until rank 0's replica has the servers' state and observers may save
  /// it.
  bool pauses_after_epochs = false;

  /// True if no worker may be ahead.
  [[nodiscard]] constexpr bool is_synchronous() const noexcept { return staleness == 0; }
  /// True if there is a bound.
  [[nodiscard]] constexpr bool is_bounded() const noexcept { return staleness != no_bound; }
  /// The clock that all other workers must have reached before one at `clock` may read.
  [[nodiscard]] constexpr clock_value required_clock(clock_value clock) const noexcept {
    return clock > staleness ? clock - staleness : 0;
  }
};

}  // namespace tutti::nn::parameter_server
