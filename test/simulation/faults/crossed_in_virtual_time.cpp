// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (the laws that it draws from have tests of their own)
#include <faults/trials.hpp>
#include <laws/crossed.hpp>
#include <tutti/simulation/simulate.hpp>

int main(int argc, char** argv) {
  return tutti::faults::run_trials(
      argc, argv, "waits on two or three communicators, crossed at random, in virtual time", 20,
      "none: operations that cross, in virtual time", [](std::uint64_t seed) -> tutti::support::verdict {
        auto const n = static_cast<tutti::rank_type>(2 + seed / 2 % 3);
        auto const net =
            tutti::one_switch(n, {.latency = std::chrono::microseconds(1), .per_byte = tutti::at_gigabits(100)});
        auto const outcome =
            tutti::simulate(net, n, [seed](auto& world) { return laws::crossed_at_random(world, seed); });
        return tutti::faults::classify_undisturbed(tutti::faults::first_complaint(outcome.results, "simulated"));
      });
}
