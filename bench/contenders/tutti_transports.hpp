// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../common/settings.hpp"

namespace bench {

/// Serves as a world with the ranks of the settings. Returns the exit status of the program.
int run_tutti_over_loopback(settings const& s);
int run_tutti_over_shared_memory(settings const& s);
int run_tutti_over_tcp(settings const& s);
int run_tutti_over_tcp_and_fpga_nic(settings const& s);
int run_tutti_over_tcp_and_udp_multicast(settings const& s);
int run_tutti_over_loopback_and_tcp(settings const& s);
int run_tutti_over_shared_memory_and_tcp(settings const& s);

}  // namespace bench
