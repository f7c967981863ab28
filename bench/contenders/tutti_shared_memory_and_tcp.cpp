// SPDX-License-Identifier: Apache-2.0
#include "tutti.hpp"
#include <tutti/transport/by_locality.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

int bench::run_tutti_over_shared_memory_and_tcp(settings const& s) {
  return run_tutti<tutti::by_locality<tutti::shared_memory, tutti::tcp>>(s);
}
