// SPDX-License-Identifier: Apache-2.0
//
// An allreduce in virtual time: 16 hosts on two switches that share one cable. The cable slows a ring only if ranks
// are placed badly; it slows a butterfly in any case.
#include <tutti/simulation/simulate.hpp>
#include <tutti/tutti.hpp>

#include <cstdio>

using std::chrono::microseconds;

int main() {
  constexpr tutti::rank_type n = 16;
  tutti::loggp const nic{.latency = microseconds(2), .overhead = microseconds(1), .per_byte = tutti::at_gigabits(100)};
  auto const net = tutti::two_switches(n / 2, nic, {.latency = microseconds(1), .per_byte = tutti::at_gigabits(100)});

  auto const measure = [&](auto topology, char const* placement_name, tutti::placement place) {
    auto const run = tutti::simulate(net, n,
                                     [&](auto& world) {
                                       tutti::allreduce sum{world, topology, tutti::sum<float>{}};
                                       std::vector<float> gradients(1 << 20, 1);
                                       auto pending = sum.start(gradients);
                                       world.transport().spend(microseconds(300));  // computes meanwhile
                                       pending.wait();
                                       return gradients.back();
                                     },
                                     {.place = std::move(place)});
    for (auto const& r : run.results) {
      if (r.value() != n) {
        std::puts("wrong");
        return false;
      }
    }
    auto const busiest = run.report.busiest();
    std::printf("%-10s %-9s %7.0f us, busiest: %s\n", topology.name.data(), placement_name,
                static_cast<double>(run.report.time().count()) * 1e-6, busiest.name.c_str());
    return true;
  };
  bool good = measure(tutti::ring{}, "in order", tutti::in_order(net, n));
  good = measure(tutti::ring{}, "dealt", tutti::dealt(net, n)) && good;
  good = measure(tutti::butterfly{}, "in order", tutti::in_order(net, n)) && good;
  good = measure(tutti::butterfly{}, "dealt", tutti::dealt(net, n)) && good;
  return good ? 0 : 1;
}
