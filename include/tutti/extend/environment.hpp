// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/types.hpp>

#include <string>

namespace tutti::inline v0_1_0 {

/// What the launcher of this process says about the world. The default is a world of one.
struct environment {
  std::string launcher = "none";     ///< "TUTTI_*", "torchrun", "Open MPI", "MPICH", "Slurm"
  rank_type rank = 0;                ///< of this process
  rank_type size = 1;                ///< of the world
  rank_type local_rank = no_rank;    ///< among the processes of this host; no_rank if unknown
  rank_type local_size = 0;          ///< how many they are; 0 if unknown
  detail::net::host_port master;     ///< where rank 0 serves the rendezvous; empty host: nowhere
  std::string directory;             ///< below which they meet through files instead; empty: nowhere
  std::string job;                   ///< the name that only ranks of this job have; empty in a world of one
  std::string network_interface;     ///< the network interface to use; empty: the one on the route
  std::string node;                  ///< what tells this host from others; empty: what the system says
  std::string role;                  ///< of this rank in a list of hosts
  duration patience = join_timeout;  ///< how long to wait for the other ranks
  std::string advice;  ///< what to do if the world should have been larger; mostly empty. A program may print it
};

/// What the environment of this process says.
///
/// TUTTI_RANK (a number, or `hostname`: that at the end of the host's name, as a StatefulSet of Kubernetes counts them,
/// 2 on worker-2), TUTTI_SIZE, TUTTI_LOCAL_RANK, TUTTI_LOCAL_SIZE, TUTTI_MASTER_ADDR, TUTTI_MASTER_PORT,
/// TUTTI_STORE (tcp or file:PATH), TUTTI_HOSTS (a list, or file:PATH), TUTTI_JOB, TUTTI_INTERFACE,
/// TUTTI_NODE and TUTTI_TIMEOUT (seconds) take precedence over all else. Ranks and sizes come from the first of
/// torchrun, Open MPI, MPICH and Slurm that gives both. A world of several ranks has a name that tells its ranks from
/// those of other jobs: TUTTI_JOB, or the launcher's.
/// @throws error(failure::join) that names the variable that is wrong or lacks
[[nodiscard]] TUTTI_DECL environment read_environment();

namespace detail {

/// Reads other variables than those of the process: "NAME=value" each, null at the end, as in `environ`.
/// @param parent the number of the parent process
/// @param host the name of the host
[[nodiscard]] TUTTI_DECL environment read_environment(char const* const* variables, long parent, std::string host);

}  // namespace detail

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/environment.ipp>
#endif
