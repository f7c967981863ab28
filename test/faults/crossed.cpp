// SPDX-License-Identifier: Apache-2.0
// test: plain (the laws that it draws from have tests of their own)
#include <faults/trials.hpp>
#include <laws/crossed.hpp>
#include <support/emulated_hosts.hpp>
#include <tutti/simulation/simulate.hpp>
#include <tutti/spawn.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

namespace {

using tutti::rank_type;

/// The first complaint of a world.
template <class Results>
std::string first_of(Results const& results, char const* where) {
  for (rank_type r = 0; r < results.size(); ++r) {
    std::string const complaint = results[r] ? results[r].value() : results[r].failure().text;
    if (!complaint.empty()) {
      return std::string(where) + ", rank " + std::to_string(r) + ": " + complaint;
    }
  }
  return {};
}

template <class Transport>
std::string trial_over(std::uint64_t seed) {
  auto const n = static_cast<rank_type>(2 + seed / 2 % 3);
  return first_of(tutti::spawn<Transport>(n,
                                          [seed](auto& world) {
                                            world.deadline(std::chrono::seconds(20));
                                            return laws::crossed_at_random(world, seed);
                                          }),
                  Transport::name.data());
}

std::string trial_in_virtual_time(std::uint64_t seed) {
  auto const n = static_cast<rank_type>(2 + seed / 2 % 3);
  auto const net = tutti::one_switch(n, {.latency = std::chrono::microseconds(1), .per_byte = tutti::at_gigabits(100)});
  return first_of(tutti::simulate(net, n, [seed](auto& world) { return laws::crossed_at_random(world, seed); }).results,
                  "simulated");
}

}  // namespace

int main(int argc, char** argv) {
  return tutti::faults::run_trials(
      argc, argv, "waits on two or three communicators, crossed at random, over every transport", 20,
      [](std::uint64_t seed) -> tutti::support::verdict {
        for (auto const trial :
             {trial_over<tutti::loopback>, trial_over<tutti::shared_memory>, trial_over<tutti::tcp>,
              trial_over<tutti::support::emulated_hosts<tutti::shared_memory, tutti::tcp>>, trial_in_virtual_time}) {
          if (std::string complaint = trial(seed); !complaint.empty()) {
            return complaint;
          }
        }
        return {};
      });
}
