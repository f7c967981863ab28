// SPDX-License-Identifier: Apache-2.0
#include "tutti.hpp"
#include <tutti/in_network/udp_multicast.hpp>
#include <tutti/transport/tcp.hpp>

int bench::run_tutti_over_tcp_and_udp_multicast(settings const& s) {
  return run_tutti<tutti::udp_multicast<tutti::tcp>>(s);
}
