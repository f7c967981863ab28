// SPDX-License-Identifier: Apache-2.0
#include "tutti.hpp"
#include <tutti/transport/by_locality.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/tcp.hpp>

int bench::run_tutti_over_loopback_and_tcp(settings const& s) {
  return run_tutti<tutti::by_locality<tutti::loopback, tutti::tcp>>(s);
}
