// SPDX-License-Identifier: Apache-2.0
// test: plain (the laws that it draws from have tests of their own)
#include <faults/trials.hpp>
#include <laws/crossed.hpp>
#include <support/emulated_hosts.hpp>
#include <tutti/spawn.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

namespace {

using tutti::rank_type;

template <class Transport>
std::string trial_over(std::uint64_t seed) {
  auto const n = static_cast<rank_type>(2 + seed / 2 % 3);
  return tutti::faults::first_complaint(tutti::spawn<Transport>(n,
                                                                [seed](auto& world) {
                                                                  world.deadline(std::chrono::seconds(20));
                                                                  return laws::crossed_at_random(world, seed);
                                                                }),
                                        Transport::name.data());
}

}  // namespace

int main(int argc, char** argv) {
  return tutti::faults::run_trials(
      argc, argv, "waits on two or three communicators, crossed at random, over every transport", 20,
      "none: operations that cross", [](std::uint64_t seed) -> tutti::support::verdict {
        for (auto const trial : {trial_over<tutti::loopback>, trial_over<tutti::shared_memory>, trial_over<tutti::tcp>,
                                 trial_over<tutti::support::emulated_hosts<tutti::shared_memory, tutti::tcp>>}) {
          if (std::string complaint = trial(seed); !complaint.empty()) {
            return tutti::faults::classify_undisturbed(complaint);
          }
        }
        return {};
      });
}
