// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (processes are killed, stopped or unknown peers)
#include <faults/kills.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

int main(int argc, char** argv) {
  using namespace tutti::faults;
  return run_trials(argc, argv, "kills ranks and their parents at random moments", 100, kind_of_kill,
                    [](std::uint64_t seed) {
                      bool const uses_tcp = plan(seed).draw(4) == 0;
                      return uses_tcp ? trial_of_kills<tutti::tcp>(seed) : trial_of_kills<tutti::shared_memory>(seed);
                    });
}
