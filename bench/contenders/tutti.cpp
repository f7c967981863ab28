// SPDX-License-Identifier: Apache-2.0
//
// tutti as a contender: transport=, ranks=, trace=. One unit per transport, for the compiler's sake.
#include "../common/serve.hpp"
#include "tutti_transports.hpp"

#include <cstdio>
#include <exception>
#include <string_view>

int main(int argc, char** argv) try {
  bench::settings const s = bench::read_command_line(argc, argv);
  std::string_view const transport = s.one_of("transport", {"shared_memory", "loopback", "tcp"});
  return transport == "loopback" ? bench::run_tutti_over_loopback(s)
         : transport == "tcp"    ? bench::run_tutti_over_tcp(s)
                                 : bench::run_tutti_over_shared_memory(s);
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
