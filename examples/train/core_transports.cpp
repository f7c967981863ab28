// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"
#include <tutti/transport/by_locality.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

outcomes train_over_loopback(job const& work) {
  return train_over<tutti::loopback>(work);
}

outcomes train_over_shared_memory(job const& work) {
  return work.is_launched ? train_in_launched_world<tutti::shared_memory>(work)
                          : train_over<tutti::shared_memory>(work);
}

outcomes train_over_tcp(job const& work) {
  return work.is_launched ? train_in_launched_world<tutti::tcp>(work) : train_over<tutti::tcp>(work);
}

outcomes train_over_by_locality(job const& work) {
  using transport = tutti::by_locality<tutti::shared_memory, tutti::tcp>;
  tutti::world_options<transport> settings;
  settings.transport.ranks_per_host = work.options.ranks_per_host;
  return work.is_launched ? train_in_launched_world<transport>(work, settings) : train_over<transport>(work, settings);
}
