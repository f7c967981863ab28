// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/bootstrap/launched_rendezvous.hpp>
#include <tutti/communicator.hpp>

namespace tutti {

/// Whether a launcher has started this process as one of several.
template <class = void>
[[nodiscard]] bool launched() {
  return read_environment().launcher != "none";
}

/// Joins the world that this process was launched into, as the launcher's environment says: see
/// bootstrap/environment.hpp for the variables. A process that nobody launched is a world of one.
///
///     auto world = tutti::join<tutti::tcp>();
///
/// Collective over the processes of the world.
/// @throws error (failure::join) naming the ranks that are missing, that are there twice or that
///         disagree, or the variable that is wrong
template <class Transport, rank_type N = dynamic, class Trace = no_trace, class Meet = launched_rendezvous>
  requires(!in_process<Transport>)
[[nodiscard]] communicator<Transport, N, Trace> join(world_options<Transport> options = {}, Trace trace = {}) {
  environment const where = read_environment();
  if (options.role.empty()) {
    options.role = where.role;
  }
  Meet meet(where);
  return communicator<Transport, N, Trace>(meet, options, std::move(trace));
}

}  // namespace tutti
