// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include <stdexcept>
#include <string>

namespace {

[[noreturn]] void refuse(std::string const& transport) {
  throw std::runtime_error("--transport " + transport +
                           " is not in this program, which was built without tutti::in_network; take --transport tcp");
}

}  // namespace

// In place of in_network_transports.cpp.
outcomes train_over_fpga_nic(job const&) {
  refuse("fpga_nic");
}
outcomes train_over_udp_multicast(job const&) {
  refuse("udp_multicast");
}
