// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"
#include <tutti/extend/outcome.hpp>
#include <tutti/nn/data/dataset.hpp>

#include <string>
#include <vector>

/// All that a rank needs to know, whatever carries its messages.
struct job {
  struct options options;
  tutti::nn::data_pair data;
  bool launched = false;  ///< join the launcher's world instead of starting ranks
};

/// How the ranks ended: one outcome each, of which the values say nothing.
using outcomes = std::vector<tutti::outcome<int>>;

// One translation unit per transport, so that they compile beside each other.
outcomes train_over_loopback(job const& work);
outcomes train_over_shared_memory(job const& work);
outcomes train_over_tcp(job const& work);
outcomes train_over_by_locality(job const& work);
outcomes train_over_fpga_nic(job const& work);
outcomes train_over_udp_multicast(job const& work);
outcomes train_over_verbs(job const& work);
