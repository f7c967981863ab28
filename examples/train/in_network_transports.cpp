// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"
#include <tutti/in_network/fpga_nic.hpp>
#include <tutti/in_network/udp_multicast.hpp>
#include <tutti/transport/tcp.hpp>

outcomes train_over_fpga_nic(job const& work) {
  using transport = tutti::fpga_nic<tutti::tcp>;
  tutti::world_options<transport> settings;
  settings.transport.network.device = work.options.device;
  return work.is_launched ? train_in_launched_world<transport>(work, settings) : train_over<transport>(work, settings);
}

outcomes train_over_udp_multicast(job const& work) {
  using transport = tutti::udp_multicast<tutti::tcp>;
  return work.is_launched ? train_in_launched_world<transport>(work) : train_over<transport>(work);
}
