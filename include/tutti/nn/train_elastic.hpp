// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/door.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/nn/growth_watch.hpp>
#include <tutti/shrink.hpp>

#include <utility>

namespace tutti::inline v0_1_0::nn {

/// The ways in which the world of an elastic training changes.
struct elastic_options {
  duration patience = join_timeout;  ///< longest wait for other survivors
  door* entry = nullptr;             ///< the door through which processes enter; null: none do
  rank_type max_ranks = no_rank;     ///< the largest number of ranks
};

namespace detail {

/// Calls `part`. Returns true if it reached its end, false if the training is to continue in another world.
/// @param cause the fault; of kind `none` if processes wait to enter
template <class Part>
bool run_to_end(error& cause, Part&& part) {
  try {
    part();
    return true;
  } catch (growth_due const&) {
    cause = error(failure::none, {});
  } catch (error const& e) {
    if (e.kind() == failure::mismatch || e.kind() == failure::protocol || e.kind() == failure::aborted) {
      throw;
    }
    cause = e;
  }
  return false;
}

/// Continues in further worlds until the training has reached its end.
template <class Detector, class Train, class Rejoin>
void continue_elastic(Detector& detector, elastic_options const& options, bool has_ended, error& cause, Train&& train,
                      Rejoin&& rejoin) {
  while (!has_ended) {
    auto next = options.entry != nullptr ? detector.grow(*options.entry, options.max_ranks) : detector.shrink();
    has_ended = run_to_end(cause, [&] {
      rejoin(next, cause);
      train(next);
    });
  }
}

}  // namespace detail

/// Elastic training: when ranks fail, training continues among the survivors, again and again, down to one rank. With a
/// door, processes may enter, too: after a fault, and whenever `train` ends by `growth_due` (`growth_watch`).
///
/// `train(world)` is one rank's training, to its end. `rejoin(next, cause)` is called on all ranks of a new world, and
/// restores each rank's model as `latest_state` says. The cause is of kind `failure::none` if there was no fault.
///
/// Collective. Cost without faults: that of a failure_detector.
/// @throws error if the ranks disagree about what they do, which no shrink repairs, or one aborts the world; errors of
/// `failure_detector::shrink` or `grow`; other exceptions of train
template <class Communicator, class Train, class Rejoin>
void train_elastic(Communicator& world, elastic_options const& options, Train&& train, Rejoin&& rejoin) {
  failure_detector detector(world, options.patience);
  error cause(failure::none, {});
  bool const has_ended = detail::run_to_end(cause, [&] { train(world); });
  detail::continue_elastic(detector, options, has_ended, cause, train, rejoin);
}

/// Elastic training of a process that has entered it (`enter`): `rejoin` first.
template <class Transport, class Trace, class Train, class Rejoin>
void train_elastic(std::pair<communicator<Transport, dynamic, Trace>, failure_detector<Transport, Trace>>& membership,
                   elastic_options const& options, Train&& train, Rejoin&& rejoin) {
  error cause(failure::none, {});
  bool const has_ended = detail::run_to_end(cause, [&] {
    rejoin(membership.first, cause);
    train(membership.first);
  });
  detail::continue_elastic(membership.second, options, has_ended, cause, train, rejoin);
}

}  // namespace tutti::nn
