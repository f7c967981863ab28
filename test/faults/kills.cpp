// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (processes are killed, stopped or unknown peers)
#include <faults/kills.hpp>
#include <support/emulated_hosts.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

int main(int argc, char** argv) {
  using namespace tutti::faults;
  return run_trials(argc, argv, "kills ranks and their parents at random moments", 100, kind_of_kill,
                    [](std::uint64_t seed) {
                      switch (plan(seed).draw(4)) {
                        case 0:
                          return trial_of_kills<tutti::tcp>(seed);
                        case 1:
                          return trial_of_kills<tutti::support::emulated_hosts<tutti::shared_memory, tutti::tcp>>(seed);
                        default:
                          return trial_of_kills<tutti::shared_memory>(seed);
                      }
                    });
}
