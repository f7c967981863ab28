// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"
#include <tutti/transport/by_locality.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

outcomes train_over_by_locality(job const& work) {
  using transport = tutti::by_locality<tutti::shared_memory, tutti::tcp>;
  tutti::world_options<transport> how;
  how.transport.ranks_per_host = work.options.ranks_per_host;
  return work.launched ? train_in_launched_world<transport>(work, how) : train_over<transport>(work, how);
}
