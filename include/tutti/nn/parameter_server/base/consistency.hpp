// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::nn::parameter_server {

/// A worker's clock: how many steps it has pushed.
using clock_value = std::uint64_t;

/// How far apart workers may be, and which side begins to send weights.
///
/// A worker that has pushed c steps reads weights in which all steps of all others before c - staleness are: no worker
/// is ever more than that many clocks ahead of the slowest when it reads (Ho et al., "More effective distributed ML via
/// a stale synchronous parallel parameter server", NIPS 2013). Unbounded is asynchronous (Dean et al., "Large scale
/// distributed deep networks", NIPS 2012). With 0 the pushes of a clock wait for each other and are one step, in the
/// order of the workers: synchronous training, with equal bits from run to run. Otherwise each push is a step as soon
/// as it is there.
struct consistency {
  static constexpr clock_value unbounded = UINT64_MAX;  ///< no bound

  clock_value staleness = 0;  ///< how many clocks a worker may be ahead of the slowest
  /// Servers send a piece's new weights to a worker without a request, as soon as it may have them.
  bool server_sends = false;
  /// After each epoch all workers rest until rank 0's replica is what the servers hold, and observers may keep it.
  bool rests = false;

  /// Whether no worker may be ahead.
  [[nodiscard]] constexpr bool synchronous() const noexcept { return staleness == 0; }
  /// Whether there is a bound.
  [[nodiscard]] constexpr bool bounded() const noexcept { return staleness != unbounded; }
  /// The clock that all others must have reached before one at `clock` may read.
  [[nodiscard]] constexpr clock_value needed(clock_value clock) const noexcept {
    return clock > staleness ? clock - staleness : 0;
  }
};

}  // namespace tutti::nn::parameter_server
