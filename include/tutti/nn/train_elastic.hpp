// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/shrink.hpp>

namespace tutti::inline v0_1_0::nn {

/// Elastic training: when ranks fail, training continues among the survivors, again and again, down to one rank.
///
/// `train(world)` is one rank's training, to its end. `rejoin(smaller, cause)` is called on all survivors with their
/// new world, and restores each rank's model as `latest_state` says.
///
/// Collective. Cost without faults: that of a failure_detector.
/// @throws error if the ranks disagree about what they do, which no shrink repairs, or one aborts the world; errors of
/// `failure_detector::shrink`; other exceptions of train
template <class Communicator, class Train, class Rejoin>
void train_elastic(Communicator& world, duration patience, Train&& train, Rejoin&& rejoin) {
  failure_detector detector(world, patience);
  error cause(failure::none, {});
  auto const run_to_end = [&](auto&& part) {
    try {
      part();
      return true;
    } catch (error const& e) {
      if (e.kind() == failure::mismatch || e.kind() == failure::protocol || e.kind() == failure::aborted) {
        throw;
      }
      cause = e;
      return false;
    }
  };
  bool has_ended = run_to_end([&] { train(world); });
  while (!has_ended) {
    auto smaller = detector.shrink();
    has_ended = run_to_end([&] {
      rejoin(smaller, cause);
      train(smaller);
    });
  }
}

}  // namespace tutti::nn
