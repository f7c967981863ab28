// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/simulation/simulate.hpp>

#include <cstddef>

namespace bench {

/// Servers, each a host of its own, and workers, several to a host, on one switch.
struct cluster {
  tutti::loggp server;
  tutti::loggp worker;
  tutti::picoseconds combine;
  tutti::rank_type workers_per_host = 1;

  [[nodiscard]] tutti::simulated_network network(tutti::rank_type servers, tutti::rank_type workers) const {
    auto net = tutti::one_switch(servers, server);
    net.hosts.insert(net.hosts.end(), (workers + workers_per_host - 1) / workers_per_host, {0, worker});
    net.combine = combine;
    net.sums = true;
    return net;
  }

  [[nodiscard]] tutti::placement place(tutti::rank_type servers, tutti::rank_type workers) const {
    tutti::placement hosts;
    for (tutti::rank_type r = 0; r != servers + workers; ++r) {
      hosts.push_back(r < servers ? r : servers + (r - servers) / workers_per_host);
    }
    return hosts;
  }
};

}  // namespace bench
