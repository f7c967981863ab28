// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"
#include <tutti/verbs/verbs.hpp>

outcomes train_over_verbs(job const& work) {
  return work.is_launched ? train_in_launched_world<tutti::verbs>(work) : train_over<tutti::verbs>(work);
}
