// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The name or number of a host, without brackets, and a port: "node7:29500", "10.0.0.1:80", "[fe80::1]:80".
struct host_port {
  std::string host;        ///< name or number
  std::uint16_t port = 0;  ///< 0: none

  friend bool operator==(host_port const&, host_port const&) = default;
};

/// The world as the launcher of this process describes it. The default is a world of one.
struct environment {
  std::string launcher = "none";     ///< "TUTTI_*", "torchrun", "Open MPI", "MPICH", "Slurm"
  rank_type rank = 0;                ///< rank of this process
  rank_type size = 1;                ///< number of ranks of the world
  rank_type local_rank = no_rank;    ///< rank among the processes of this host; no_rank if unknown
  rank_type local_size = 0;          ///< number of processes on this host; 0 if unknown
  host_port master;                  ///< address of rank 0's rendezvous; empty host: none
  std::vector<host_port> hosts;      ///< addresses of all ranks, in a list of hosts; empty: no list
  std::string directory;             ///< directory for a rendezvous through files instead; empty: none
  std::string job;                   ///< unique name of this job; empty in a world of one
  std::string network_interface;     ///< network interface to use; empty: the one on the route
  std::string node;                  ///< name that identifies this host; empty: the system's
  std::string dumps;                 ///< folder to which ranks write dumps at a fault and at SIGUSR2; empty: none
  std::string role;                  ///< label of this rank in a list of hosts
  duration patience = join_timeout;  ///< longest wait for the other ranks
  world_secret secret;               ///< key by which the ranks prove that they are of this world; mostly none
  std::string advice;  ///< sentence that a program may print once: the world should have been larger, or has no secret
};

}  // namespace tutti
