// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/types.hpp>

#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0 {

/// "node7:29500", "10.0.0.1:80", "[fe80::1]:80": a name or number of a host, without brackets, and a port.
struct host_port {
  std::string host;        ///< its name or number
  std::uint16_t port = 0;  ///< 0: none

  friend bool operator==(host_port const&, host_port const&) = default;
};

/// The world, as the launcher of this process describes it. The default is a world of one.
struct environment {
  std::string launcher = "none";     ///< "TUTTI_*", "torchrun", "Open MPI", "MPICH", "Slurm"
  rank_type rank = 0;                ///< of this process
  rank_type size = 1;                ///< of the world
  rank_type local_rank = no_rank;    ///< among the processes of this host; no_rank if unknown
  rank_type local_size = 0;          ///< the number of these; 0 if unknown
  host_port master;                  ///< where rank 0 serves the rendezvous; empty host: nowhere
  std::string directory;             ///< below which they meet through files instead; empty: nowhere
  std::string job;                   ///< the name that only ranks of this job have; empty in a world of one
  std::string network_interface;     ///< the network interface to use; empty: the one on the route
  std::string node;                  ///< the name that tells this host from others; empty: as the system says
  std::string role;                  ///< of this rank in a list of hosts
  duration patience = join_timeout;  ///< the longest wait for the other ranks
  std::string advice;  ///< the remedy if the world should have been larger; mostly empty. A program may print it
};

}  // namespace tutti
