// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"
#include <tutti/in_network/udp_multicast.hpp>
#include <tutti/transport/tcp.hpp>

outcomes train_over_udp_multicast(job const& work) {
  using transport = tutti::udp_multicast<tutti::tcp>;
  return work.launched ? train_in_launched_world<transport>(work) : train_over<transport>(work);
}
