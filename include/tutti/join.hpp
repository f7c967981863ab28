// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/detail/bootstrap/launched_rendezvous.hpp>
#include <tutti/detail/bootstrap/team_rendezvous.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/environment.hpp>

namespace tutti::inline v0_1_0 {

/// True if a launcher has started this process as one of several.
[[nodiscard]] inline bool is_launched() {
  return read_environment().launcher != "none";
}

/// Joins the world of this process, as its launcher's environment describes it: see environment.hpp for the variables.
/// A process without a launcher is a world of one.
///
///     auto world = tutti::join<tutti::tcp>();
///
/// Collective over the processes of the world.
///
/// @pre N, if it is not `dynamic`, is the number of ranks that the launcher has started
/// @throws error (failure::join) that names missing, duplicate or disagreeing ranks, or the wrong variable
///
/// Cost: one message from every rank to rank 0 and back, or files (TUTTI_STORE); waits for the last rank, at most
/// TUTTI_TIMEOUT seconds (60).
/// Thread safety: one thread of the process calls it.
template <class Transport, rank_type N = dynamic, class Trace = no_trace>
  requires(!in_process<Transport>)
[[nodiscard]] communicator<Transport, N, Trace> join(world_options<Transport> options = {}, Trace trace = {}) {
  detail::cancellation_shield const shield(
      detail::cancellation_shield::points::silent);  // the other ranks would wait for this one
  environment const settings = read_environment();
  if (options.role.empty()) {
    options.role = settings.role;
  }
  detail::launched_rendezvous meet(settings);
  return communicator<Transport, N, Trace>(meet, options, std::move(trace));
}

/// Joins the world with several ranks in each process: `threads` threads run `f(world)` here. Their number may differ
/// between processes. Collective over the processes of the world.
///
///     auto results = tutti::join<tutti::by_locality<tutti::loopback, tutti::tcp>>(4, [](auto& world) { ... });
///
/// Returns the outcomes of the threads of this process, in rank order: results or failures.
/// @throws error (failure::join) like the other `join`
///
/// Cost: as the other `join`, and a thread for each rank.
/// Thread safety: one thread of the process calls it.
template <class Transport, class F>
  requires in_process<Transport>
[[nodiscard]] auto join(rank_type threads, F&& f, world_options<Transport> options = {}) {
  detail::cancellation_shield const shield(
      detail::cancellation_shield::points::silent);  // the other ranks would wait for these
  environment const settings = read_environment();
  if (options.role.empty()) {
    options.role = settings.role;
  }
  detail::launched_rendezvous processes(settings);
  using world_type = communicator<Transport>;
  return detail::run_threads(threads, [&](detail::thread_rendezvous& seat) -> std::invoke_result_t<F&, world_type&> {
    detail::team_rendezvous meet(seat, processes);
    world_type world(meet, options);
    return f(world);
  });
}

}  // namespace tutti
