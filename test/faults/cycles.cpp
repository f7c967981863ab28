// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (processes are killed, stopped or unknown peers)
#include <faults/cycles.hpp>
#include <support/emulated_hosts.hpp>
#include <support/toy_hash.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

int main(int argc, char** argv) {
  using namespace tutti::faults;
  using hosts = tutti::support::emulated_hosts<tutti::shared_memory, tutti::tcp>;
  constexpr char const* kinds[] = {"lost and gained over shared_memory, a folder", "lost and gained over tcp, a folder",
                                   "lost and gained over tcp, a list of hosts",
                                   "lost and gained over by_locality, a folder"};
  return run_trials(
      argc, argv, "lets worlds lose and gain 20 ranks a trial", 12, [&](std::uint64_t seed) { return kinds[seed % 4]; },
      [](std::uint64_t seed) {
        return seed % 4 == 0   ? cycle_trial<tutti::shared_memory>(seed, meeting_place::folder).run()
               : seed % 4 == 1 ? cycle_trial<tutti::tcp>(seed, meeting_place::folder).run()
               : seed % 4 == 2 ? cycle_trial<tutti::tcp>(seed, meeting_place::hosts).run()
                               : cycle_trial<hosts>(seed, meeting_place::folder).run();
      });
}
