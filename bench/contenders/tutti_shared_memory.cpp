// SPDX-License-Identifier: Apache-2.0
#include "tutti.hpp"
#include <tutti/transport/shared_memory.hpp>

int bench::run_tutti_over_shared_memory(settings const& s) {
  return run_tutti<tutti::shared_memory>(s);
}
