// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/detail/bootstrap/threads.hpp>

#include <type_traits>

namespace tutti::inline v0_1_0 {

/// Makes a world of `n` ranks on this host, without a launcher: threads for in-process transports, forked processes
/// for others. Every rank runs `f(world)`.
///
///     auto results = tutti::spawn<tutti::loopback>(4, [](auto& world) { return world.rank(); });
///
/// In a program that includes `<tutti/secure.hpp>`, processes get a secret that the caller draws.
///
/// With a tracer, each rank's communicator gets a copy: `spawn<tutti::loopback>(4, f, {}, tutti::memory_trace(4096))`.
///
/// Returns the outcome of each rank, a result or a failure, in rank order, when all have ended. Results of processes
/// must be serialisable: see detail/bootstrap/returnable.hpp.
///
/// @pre n >= 1; before processes are forked, no other thread of the caller holds locks
/// @throws precondition_error if n is 0; the failure of a rank is in its outcome
///
/// Cost: a thread or a process per rank, and opening the transport.
/// Thread safety: any thread.
template <class Transport, tracer Trace = no_trace, class F>
[[nodiscard]] auto spawn(rank_type n, F&& f, world_options<Transport> const& options = {}, Trace const& trace = {}) {
  using world_type = communicator<Transport, dynamic, Trace>;
  // compilers.md: Deduced return types
  auto const rank = [&](auto& meet) -> std::invoke_result_t<F&, world_type&> {
    world_type world(meet, options, trace);
    return f(world);
  };
  if constexpr (in_process<Transport>) {
    return detail::run_threads(n, rank);
  } else {
    return detail::run_processes(n, rank);
  }
}

/// Makes a world whose size is known at compile time.
template <class Transport, rank_type N, class F>
  requires(N != dynamic)
[[nodiscard]] auto spawn(F&& f, world_options<Transport> const& options = {}) {
  using world_type = communicator<Transport, N>;
  auto const rank = [&](auto& meet) -> std::invoke_result_t<F&, world_type&> {
    world_type world(meet, options);
    return f(world);
  };
  if constexpr (in_process<Transport>) {
    return detail::run_threads(N, rank);
  } else {
    return detail::run_processes(N, rank);
  }
}

}  // namespace tutti
