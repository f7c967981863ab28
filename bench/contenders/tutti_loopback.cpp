// SPDX-License-Identifier: Apache-2.0
#include "tutti.hpp"
#include <tutti/transport/loopback.hpp>

int bench::run_tutti_over_loopback(settings const& s) {
  return run_tutti<tutti::loopback>(s);
}
