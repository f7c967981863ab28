// SPDX-License-Identifier: Apache-2.0
#include "tutti.hpp"
#include <tutti/in_network/fpga_nic.hpp>
#include <tutti/transport/tcp.hpp>

int bench::run_tutti_over_tcp_and_fpga_nic(settings const& s) {
  return run_tutti<tutti::fpga_nic<tutti::tcp>>(s);
}
