// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/detail/bootstrap/launched_rendezvous.hpp>
#include <tutti/detail/bootstrap/team_rendezvous.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/environment.hpp>

namespace tutti::inline v0_1_0 {

/// Whether a launcher has started this process as one of several.
[[nodiscard]] inline bool launched() {
  return read_environment().launcher != "none";
}

/// Joins the world that this process was launched into, as the launcher's environment says: see
/// environment.hpp for the variables. A process without a launcher is a world of one.
///
///     auto world = tutti::join<tutti::tcp>();
///
/// Collective over the processes of the world.
///
/// @pre N, if it is not `dynamic`, is the number of ranks that the launcher has started
/// @throws error (failure::join) naming the ranks that are missing, that are there twice or that
///         disagree, or the variable that is wrong
///
/// Cost: rank 0 hears from every rank and answers it, or all write files (TUTTI_STORE); it takes as long as the last
/// rank takes to come, at most TUTTI_TIMEOUT seconds (60).
/// Thread safety: one thread of the process calls it.
template <class Transport, rank_type N = dynamic, class Trace = no_trace>
  requires(!in_process<Transport>)
[[nodiscard]] communicator<Transport, N, Trace> join(world_options<Transport> options = {}, Trace trace = {}) {
  detail::uncancelled const throughout(detail::uncancelled::points::none);  // the others would wait for this rank
  environment const where = read_environment();
  if (options.role.empty()) {
    options.role = where.role;
  }
  detail::launched_rendezvous meet(where);
  return communicator<Transport, N, Trace>(meet, options, std::move(trace));
}

/// The same with several ranks in each process: `threads` of them run `f(world)` here. How many may differ
/// from process to process. Collective over the processes of the world.
///
///     auto results = tutti::join<tutti::by_locality<tutti::loopback, tutti::tcp>>(4, [](auto& world) { ... });
///
/// Returns what the threads of this process returned, in the order of their ranks, or why they failed.
/// @throws error (failure::join) as above
///
/// Cost: that of the other `join`, and a thread for each rank.
/// Thread safety: one thread of the process calls it.
template <class Transport, class F>
  requires in_process<Transport>
[[nodiscard]] auto join(rank_type threads, F&& f, world_options<Transport> options = {}) {
  detail::uncancelled const throughout(detail::uncancelled::points::none);  // the others would wait for these ranks
  environment const where = read_environment();
  if (options.role.empty()) {
    options.role = where.role;
  }
  detail::launched_rendezvous processes(where);
  using world_type = communicator<Transport>;
  return detail::run_threads(threads, [&](detail::thread_rendezvous& seat) -> std::invoke_result_t<F&, world_type&> {
    detail::team_rendezvous meet(seat, processes);
    world_type world(meet, options);
    return f(world);
  });
}

}  // namespace tutti
