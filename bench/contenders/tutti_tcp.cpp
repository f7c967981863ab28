// SPDX-License-Identifier: Apache-2.0
#include "tutti.hpp"
#include <tutti/transport/tcp.hpp>

int bench::run_tutti_over_tcp(settings const& s) {
  return run_tutti<tutti::tcp>(s);
}
