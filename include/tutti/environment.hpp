// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/environment.hpp>  // IWYU pragma: export

namespace tutti::inline v0_1_0 {

/// Reads the environment of this process.
///
/// TUTTI_RANK (a number, or `hostname`: the number at the end of the host's name, as in a StatefulSet of Kubernetes, 2
/// on worker-2), TUTTI_SIZE, TUTTI_LOCAL_RANK, TUTTI_LOCAL_SIZE, TUTTI_MASTER_ADDR, TUTTI_MASTER_PORT, TUTTI_STORE
/// (tcp or file:PATH), TUTTI_HOSTS (a list, or file:PATH), TUTTI_JOB, TUTTI_INTERFACE, TUTTI_NODE and TUTTI_TIMEOUT
/// (seconds) take precedence over all else. TUTTI_SECRET_FILE (a file that others can neither read nor write) or
/// TUTTI_SECRET is the text by which ranks prove that they belong to the world; with TUTTI_SECRET_REQUIRED=1, a world
/// of several ranks needs one. TUTTI_DUMPS is a folder to which ranks write dumps for tutti-inspect, at a fault and at
/// SIGUSR2. Ranks and sizes come from the first of torchrun, Open MPI, MPICH and Slurm that gives both. A world of
/// several ranks has a unique name, TUTTI_JOB or the launcher's, which keeps its ranks apart from other jobs.
/// @throws error(failure::join) that names the wrong or missing variable
[[nodiscard]] TUTTI_DECL environment read_environment();

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/environment.ipp>
#endif
