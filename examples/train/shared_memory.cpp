// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"
#include <tutti/transport/shared_memory.hpp>

outcomes train_over_shared_memory(job const& work) {
  return work.launched ? train_in_launched_world<tutti::shared_memory>(work) : train_over<tutti::shared_memory>(work);
}
