// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"
#include <tutti/extend/outcome.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <string>
#include <vector>

/// Everything that a rank needs, whatever its transport.
struct job {
  struct options options;
  tutti::nn::data_pair data;
  bool is_launched = false;  ///< join the launcher's world instead of starting ranks
};

/// One outcome for each rank. The values mean nothing.
using outcomes = std::vector<tutti::outcome<int>>;

// One translation unit for each component: most of what a unit compiles is the same for all of its transports.
outcomes train_over_loopback(job const& work);
outcomes train_over_shared_memory(job const& work);
outcomes train_over_tcp(job const& work);
outcomes train_over_by_locality(job const& work);
outcomes train_over_fpga_nic(job const& work);
outcomes train_over_udp_multicast(job const& work);
outcomes train_over_verbs(job const& work);
