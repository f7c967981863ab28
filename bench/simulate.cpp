// SPDX-License-Identifier: Apache-2.0
//
// What would an allreduce take there? A table of topologies x ranks x sizes on a network of your choice,
// in virtual time; see docs/simulation.md.
//
//   simulate [network=flat|two|leaves] [hosts_each=32] [place=order|dealt] [rate=100G] [trunk=100G]
//            [latency=1000] [overhead=300] [gap=0] [combine=50] [loss=0] [segment=0]
//            [ranks=16,256,4096] [bytes=8,65536,16777216]
//
// Times in ns, rates in bits a second such as 2.5G or 200M, combine in ps a byte; trunk: of the link between two
// switches, or up from each leaf. Networks of leaves have hosts_each hosts on a leaf.
#include "common/known_settings.hpp"
#include <tutti/simulate_schedule.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/chain.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

bench::settings settings(
    "network=flat hosts_each=32 place=order rate=100G trunk=100G latency=1000 overhead=300 gap=0 combine=50 loss=0 "
    "segment=0 ranks=16,256,4096 bytes=8,65536,16777216");

std::int64_t number(char const* name, std::size_t least = 0) {
  return static_cast<std::int64_t>(bench::whole(name, settings.text(name, ""), least));
}

/// What a byte takes at the rate of that name.
tutti::picoseconds per_byte(char const* name) {
  return tutti::at_gigabits(bench::bits_per_second(name, settings.text(name, "")) * 1e-9);
}

tutti::simulated_network network(tutti::rank_type ranks) {
  auto const each = static_cast<std::uint32_t>(number("hosts_each", 1));
  tutti::loggp const nic{std::chrono::nanoseconds(number("latency")), std::chrono::nanoseconds(number("overhead")),
                         std::chrono::nanoseconds(number("gap")), per_byte("rate")};
  tutti::simulated_network::uplink const trunk{nic.latency / 2, per_byte("trunk")};
  auto const kind = settings.one_of("network", {"flat", "two", "leaves"});
  tutti::simulated_network net = kind == "two" ? tutti::two_switches((ranks + 1) / 2, nic, trunk)
                                 : kind == "leaves"
                                     ? tutti::leaves_and_spine((ranks + each - 1) / each, each, nic, trunk)
                                     : tutti::one_switch(ranks, nic);
  net.combine = tutti::picoseconds(number("combine"));
  return net;
}

/// Nothing can be faster, unless the network sums: every byte but one's own part must leave and come, every rank hear
/// of every other.
double limit_in_microseconds(tutti::rank_type n, std::size_t bytes) {
  double const us_a_byte = static_cast<double>(per_byte("rate").count()) * 1e-6;
  double rounds = 0;
  for (std::size_t reached = 1; reached < n; reached *= 2) {
    ++rounds;
  }
  double const start = rounds * static_cast<double>(number("latency") + 2 * number("overhead")) * 1e-3;
  double const transfer = 2.0 * (n - 1) / n * static_cast<double>(bytes) * us_a_byte;
  return start < transfer ? transfer : start;
}

template <class Topology>
void row(Topology topology, tutti::rank_type n, std::size_t bytes) {
  constexpr std::uint64_t most_steps = 100'000'000;
  std::printf("%-12s %6u %10zu", Topology::name.data(), n, bytes);
  if (std::uint64_t{topology.steps(tutti::op::allreduce{}, n, n / 2)} * n > most_steps) {
    std::printf("  left out: more than 10^8 messages\n");
    return;
  }
  auto const net = network(n);
  tutti::simulation_options options;
  options.place =
      settings.one_of("place", {"order", "dealt"}) == "dealt" ? tutti::dealt(net, n) : tutti::in_order(net, n);
  options.faults.loss = bench::real("loss", settings.text("loss", ""));
  auto const begin = std::chrono::steady_clock::now();
  auto const report = tutti::simulate_schedule(net, topology, tutti::op::allreduce{}, n,
                                               {bytes / 4, 4, static_cast<std::size_t>(number("segment"))}, options);
  double const real = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  double const us = static_cast<double>(report.time().count()) * 1e-6;
  auto const busiest = report.busiest();
  std::printf(" %12.1f %8.2f  %-16s %4.0f%% %10llu %7.2f\n", us, us / limit_in_microseconds(n, bytes),
              busiest.name.c_str(), 100 * static_cast<double>(busiest.use.busy.count()) * 1e-6 / us,
              static_cast<unsigned long long>(report.messages), real);
}

}  // namespace

int main(int argc, char** argv) try {
  if (!bench::read_known(argc, argv, settings)) {
    return 2;
  }
  std::printf("%-12s %6s %10s %12s %8s  %-16s %5s %10s %7s\n", "allreduce", "ranks", "bytes", "us", "x limit",
              "busiest", "busy", "messages", "real s");
  for (std::size_t const ranks : bench::wholes("ranks", settings.text("ranks", ""), 1)) {
    for (std::size_t const bytes : bench::wholes("bytes", settings.text("bytes", ""), 4)) {
      auto const n = static_cast<tutti::rank_type>(ranks);
      row(tutti::ring{}, n, bytes);
      row(tutti::butterfly{}, n, bytes);
      row(tutti::doubling{}, n, bytes);
      row(tutti::binary_tree{}, n, bytes);
      row(tutti::chain{}, n, bytes);
      row(tutti::star{}, n, bytes);
      row(tutti::direct{}, n, bytes);
      row(tutti::in_network{}, n, bytes);
    }
  }
} catch (std::exception const& e) {
  std::fprintf(stderr, "simulate: %s\n", e.what());
  return 1;
}
