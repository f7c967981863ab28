// SPDX-License-Identifier: Apache-2.0
//
// Throws random and mutated packets at the parts of a device in the network. See docs/hardware/fpga-nic-protocol.md.
#include "../../../../tools/common/real_range.hpp"
#include "targets.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

int main(int argc, char** argv) {
  double packets = 1e6;
  std::uint64_t seed = 1;
  CLI::App app{
      "Throws packets at the slots, the switch, a rack's and the UDP port of a device in the network: nothing may "
      "crash,\n"
      "no refused packet may change a slot, and each is counted."};
  app.option_defaults()->always_capture_default();
  app.add_option("--packets", packets, "At each of them, e.g. 1e7")->check(real_range(1.0, 1e12));
  app.add_option("--seed", seed, "What they are drawn from");
  CLI11_PARSE(app, argc, argv);
  try {
    auto const n = static_cast<std::uint64_t>(packets);
    throw_at_slots(n, seed);
    throw_at_switch(n, seed);
    throw_at_racks(n, seed);
    throw_at_port(n, seed);
  } catch (std::exception const& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "fuzz: %s\n", e.what());
    return 1;
  }
  return 0;
}
