// SPDX-License-Identifier: Apache-2.0
//
// tutti as a contender: transport=, ranks=, trace=. One translation unit per transport eases compiling.
// With launched=yes this process is one of several, as tutti's environment says (TUTTI_RANK, ...); if ranks are threads
// it runs threads= of them.
#include "../common/serve.hpp"
#include "tutti_transports.hpp"

#include <cstdio>
#include <exception>
#include <string_view>

int main(int argc, char** argv) try {
  bench::settings const s = bench::read_command_line(argc, argv);
  std::string_view const transport = s.one_of("transport", {"shared_memory", "loopback", "tcp", "tcp+fpga_nic",
                                                            "tcp+udp_multicast", "shared_memory+tcp", "loopback+tcp"});
  return transport == "loopback"            ? bench::run_tutti_over_loopback(s)
         : transport == "tcp"               ? bench::run_tutti_over_tcp(s)
         : transport == "tcp+fpga_nic"      ? bench::run_tutti_over_tcp_and_fpga_nic(s)
         : transport == "tcp+udp_multicast" ? bench::run_tutti_over_tcp_and_udp_multicast(s)
         : transport == "loopback+tcp"      ? bench::run_tutti_over_loopback_and_tcp(s)
         : transport == "shared_memory+tcp" ? bench::run_tutti_over_shared_memory_and_tcp(s)
                                            : bench::run_tutti_over_shared_memory(s);
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
