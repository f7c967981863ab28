// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/environment.hpp>  // IWYU pragma: export

namespace tutti::inline v0_1_0 {

/// Reads the environment of this process.
///
/// TUTTI_RANK (a number, or `hostname`: that at the end of the host's name, as a StatefulSet of Kubernetes counts them,
/// 2 on worker-2), TUTTI_SIZE, TUTTI_LOCAL_RANK, TUTTI_LOCAL_SIZE, TUTTI_MASTER_ADDR, TUTTI_MASTER_PORT,
/// TUTTI_STORE (tcp or file:PATH), TUTTI_HOSTS (a list, or file:PATH), TUTTI_JOB, TUTTI_INTERFACE,
/// TUTTI_NODE and TUTTI_TIMEOUT (seconds) take precedence over all else. Ranks and sizes come from the first of
/// torchrun, Open MPI, MPICH and Slurm that gives both. A world of several ranks has a name that tells its ranks from
/// those of other jobs: TUTTI_JOB, or the launcher's.
/// @throws error(failure::join) that names the variable that is wrong or lacks
[[nodiscard]] TUTTI_DECL environment read_environment();

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/environment.ipp>
#endif
