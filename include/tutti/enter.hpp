// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/detail/bootstrap/newcomer.hpp>
#include <tutti/detail/bootstrap/shrink_meeting.hpp>
#include <tutti/detail/bootstrap/survivors.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/core/joined_threads.hpp>
#include <tutti/environment.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/shrink.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tutti::inline v0_1_0 {

namespace detail {

/// Makes the failure detectors of processes that enter.
struct entering {
  template <class Transport, class Trace>
  [[nodiscard]] static std::pair<tutti::communicator<Transport, dynamic, Trace>, failure_detector<Transport, Trace>>
  enter(world_options<Transport> options, Trace const& trace) {
    cancellation_shield const shield(cancellation_shield::points::silent);  // the other ranks would wait for this one
    environment const settings = tutti::read_environment();
    if (options.role.empty()) {
      options.role = settings.role;
    }
    time_point const deadline = steady_now() + finite_patience(settings.patience);
    newcomer self(settings);
    constexpr int max_attempts = 5;
    for (int attempts = 1;; ++attempts) {
      admission facts;
      survivors group = self.enter(facts, deadline);
      try {
        group.local_host(self.local_host());
        group.secret(settings.secret);
        shrink_meeting meeting = meet(group, self.local_host(), settings.secret);
        tutti::communicator<Transport, dynamic, Trace> world(group, options, trace);
        group.await_result();
        failure_detector<Transport, Trace> detector(world, facts, self.local_host(), std::move(meeting));
        return {std::move(world), std::move(detector)};
      } catch (error const& e) {
        if (attempts == max_attempts || e.kind() == failure::mismatch) {
          throw;
        }
      }
      sleep_for((std::min)(duration(std::chrono::seconds(attempts)), deadline - steady_now()));
    }
  }
};

}  // namespace detail

/// Enters a running world: waits at the place that the environment names (`door`) until the members of the world call
/// `failure_detector::grow`. Returns when they use the new world: its communicator, in which this process is one of the
/// last ranks, and the failure detector that the members have, too.
///
///     auto [world, detector] = tutti::enter<tutti::tcp>();
///
/// Needs TUTTI_JOB, TUTTI_STORE=file:PATH or TUTTI_HOSTS, and the world's secret if it has one. TUTTI_RANK counts only
/// with TUTTI_HOSTS: it is the entry at which this process listens as a member, and should be that of a lost rank. A
/// process that has been let in takes part in making the world; it waits again if that fails.
///
/// @throws error (failure::join) if no world lets this process in within TUTTI_TIMEOUT seconds (60), if five attempts
/// to
///         make a world with it fail, or if the environment names no place; error (failure::mismatch) if the members
///         have other options
///
/// Cost: a listening socket, and a file or a connection to each host of the list.
/// Thread safety: one thread of the process calls it.
template <class Transport, class Trace = no_trace>
  requires(!in_process<Transport>)
[[nodiscard]] std::pair<communicator<Transport, dynamic, Trace>, failure_detector<Transport, Trace>> enter(
    world_options<Transport> options = {}, Trace trace = {}) {
  return detail::entering::enter<Transport>(std::move(options), trace);
}

}  // namespace tutti
