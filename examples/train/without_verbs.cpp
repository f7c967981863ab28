// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include <stdexcept>

// In place of verbs.cpp, where rdma-core was not found.
outcomes train_over_verbs(job const&) {
  throw std::runtime_error(
      "--transport verbs is not in this program: rdma-core was not found when it was built; install it (Debian: "
      "libibverbs-dev) and build again, or take --transport tcp");
}
