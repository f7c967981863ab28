// SPDX-License-Identifier: Apache-2.0
//
// Simulates allreduces: a table of topologies x ranks x sizes on a network of your choice, in virtual time; see
// docs/guide/simulation.md.
//
//   simulate [network=flat|two|leaves] [hosts_each=32] [place=order|dealt] [rate=100G] [trunk=100G]
//            [latency=1000] [overhead=300] [gap=0] [combine=50] [loss=0] [segment=0]
//            [ranks=16,256,4096] [ranks_per_host=1] [bytes=8,65536,16777216] [how=NAMES] [format=table|csv]
//
// Times in ns, rates in bits a second such as 2.5G or 200M, combine in ps a byte; rate=10G/3.5G: host 0, and all
// others; trunk: the link between two switches, or up from each leaf. Networks of leaves have hosts_each hosts on a
// leaf. Messages between the ranks of a host take no time. how: topologies; by default all but waited_ring, the ring
// of a program whose ranks wait for a send before they receive.
#include "../common/known_settings.hpp"
#include "waited_ring.hpp"
#include <tutti/simulation/simulate_schedule.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/chain.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/double_tree.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

bench::settings settings(
    "network=flat hosts_each=32 place=order rate=100G trunk=100G latency=1000 overhead=300 gap=0 combine=50 loss=0 "
    "segment=0 ranks=16,256,4096 ranks_per_host=1 bytes=8,65536,16777216 how= format=table");

std::int64_t number(char const* name, std::size_t least = 0) {
  return static_cast<std::int64_t>(bench::whole(name, settings.text(name, ""), least));
}

tutti::picoseconds per_byte(double rate) {
  return tutti::at_gigabits(rate * 1e-9);
}

std::vector<double> rates() {
  return bench::rates("rate", settings.text("rate", ""));
}

std::uint32_t hosts_of(tutti::rank_type ranks) {
  auto const ranks_per_host = static_cast<std::uint32_t>(number("ranks_per_host", 1));
  return (ranks + ranks_per_host - 1) / ranks_per_host;
}

tutti::simulated_network network(tutti::rank_type ranks) {
  auto const hosts_per_leaf = static_cast<std::uint32_t>(number("hosts_each", 1));
  std::uint32_t const hosts = hosts_of(ranks);
  auto const rate = rates();
  tutti::loggp const nic{std::chrono::nanoseconds(number("latency")), std::chrono::nanoseconds(number("overhead")),
                         std::chrono::nanoseconds(number("gap")), per_byte(rate.back())};
  tutti::simulated_network::uplink const trunk{nic.latency / 2,
                                               per_byte(bench::bits_per_second("trunk", settings.text("trunk", "")))};
  auto const kind = settings.one_of("network", {"flat", "two", "leaves"});
  tutti::simulated_network net =
      kind == "two" ? tutti::two_switches((hosts + 1) / 2, nic, trunk)
      : kind == "leaves"
          ? tutti::leaves_and_spine((hosts + hosts_per_leaf - 1) / hosts_per_leaf, hosts_per_leaf, nic, trunk)
          : tutti::one_switch(hosts, nic);
  for (std::size_t h = 0; h != std::min(rate.size(), net.hosts.size()); ++h) {
    net.hosts[h].nic.per_byte = per_byte(rate[h]);
  }
  net.combine = tutti::picoseconds(number("combine"));
  return net;
}

/// Places neighbours in rank on one host, or on neighbouring ones; or deals hosts to the switches in turns.
tutti::placement place_ranks(tutti::simulated_network const& net, tutti::rank_type ranks) {
  bool const is_dealt = settings.one_of("place", {"order", "dealt"}) == "dealt";
  std::uint32_t const hosts = hosts_of(ranks);
  auto const order = is_dealt ? tutti::dealt(net, hosts) : tutti::in_order(net, hosts);
  tutti::placement hosts_of_ranks;
  for (tutti::rank_type r = 0; r != ranks; ++r) {
    hosts_of_ranks.push_back(order[r / static_cast<tutti::rank_type>(number("ranks_per_host", 1))]);
  }
  return hosts_of_ranks;
}

/// A lower bound unless the network sums: every byte but a host's own part must leave and arrive by the slowest link,
/// and every host must hear of every other.
double limit_in_microseconds(std::uint32_t n, std::size_t bytes) {
  auto const link_rates = rates();
  double const microseconds_per_byte =
      static_cast<double>(
          per_byte(*std::min_element(link_rates.begin(),
                                     link_rates.begin() + std::min<std::ptrdiff_t>(std::ssize(link_rates), n)))
              .count()) *
      1e-6;
  double rounds = 0;
  for (std::size_t informed_hosts = 1; informed_hosts < n; informed_hosts *= 2) {
    ++rounds;
  }
  double const start = rounds * static_cast<double>(number("latency") + 2 * number("overhead")) * 1e-3;
  double const transfer = 2.0 * (n - 1) / n * static_cast<double>(bytes) * microseconds_per_byte;
  return start < transfer ? transfer : start;
}

/// True if rows of this topology are selected.
bool is_selected(std::string_view name) {
  std::string const names = settings.text("how", "");
  for (std::size_t begin = 0; begin < names.size();) {
    std::size_t const end = std::min(names.find(',', begin), names.size());
    if (bench::settings("how=" + names.substr(begin, end - begin))
            .one_of("how", {"ring", "butterfly", "doubling", "binary_tree", "double_tree", "chain", "star", "direct",
                            "in_network", "waited_ring"}) == name) {
      return true;
    }
    begin = end + 1;
  }
  return names.empty() && name != bench::waited_ring::name;
}

template <class Topology>
void print_row(Topology topology, tutti::rank_type n, std::size_t bytes) {
  constexpr std::uint64_t most_steps = 100'000'000;
  if (!is_selected(Topology::name)) {
    return;
  }
  bool const csv = settings.one_of("format", {"table", "csv"}) == "csv";
  if (std::uint64_t{topology.steps(tutti::op::allreduce{}, n, n / 2)} * n > most_steps) {
    std::fprintf(csv ? stderr : stdout, "%-12s %6u %10zu  left out: more than 10^8 messages\n", Topology::name.data(),
                 n, bytes);
    return;
  }
  auto const net = network(n);
  tutti::simulation_options options;
  options.place = place_ranks(net, n);
  options.faults.loss = bench::real("loss", settings.text("loss", ""));
  auto const begin = std::chrono::steady_clock::now();
  auto const report = tutti::simulate_schedule(net, topology, tutti::op::allreduce{}, n,
                                               {bytes / 4, 4, static_cast<std::size_t>(number("segment"))}, options);
  double const wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  double const microseconds = static_cast<double>(report.time().count()) * 1e-6;
  double const limit = limit_in_microseconds(hosts_of(n), bytes);
  auto const busiest = report.busiest();
  double const busy = static_cast<double>(busiest.use.busy.count()) * 1e-6;
  if (csv) {
    std::printf("%s,%u,%zu,%.6f,%.6f,\"%s\",%.6f,%llu,%llu", Topology::name.data(), n, bytes, microseconds, limit,
                busiest.name.c_str(), busy / microseconds, static_cast<unsigned long long>(report.messages),
                static_cast<unsigned long long>(report.bytes));
    for (auto const& nic : {report.nics.front(), report.nics.back()}) {
      for (tutti::simulated_usage const& use : {nic.outgoing, nic.incoming}) {
        std::printf(",%llu,%llu", static_cast<unsigned long long>(use.bytes),
                    static_cast<unsigned long long>(use.messages));
      }
    }
    std::printf("\n");
    return;
  }
  std::printf("%-12s %6u %10zu %12.1f %8.2f  %-16s %4.0f%% %10llu %7.2f\n", Topology::name.data(), n, bytes,
              microseconds, microseconds / limit, busiest.name.c_str(), 100 * busy / microseconds,
              static_cast<unsigned long long>(report.messages), wall_seconds);
}

}  // namespace

int main(int argc, char** argv) try {
  if (!bench::read_known(argc, argv, settings)) {
    return 2;
  }
  if (settings.one_of("format", {"table", "csv"}) == "csv") {
    std::printf(
        "how,ranks,bytes,us,limit_us,busiest,busy,messages,sent_bytes,first_out,first_sends,first_in,"
        "first_receives,last_out,last_sends,last_in,last_receives\n");
  } else {
    std::printf("%-12s %6s %10s %12s %8s  %-16s %5s %10s %7s\n", "allreduce", "ranks", "bytes", "us", "x limit",
                "busiest", "busy", "messages", "real s");
  }
  for (std::size_t const ranks : bench::wholes("ranks", settings.text("ranks", ""), 1)) {
    for (std::size_t const bytes : bench::wholes("bytes", settings.text("bytes", ""), 4)) {
      auto const n = static_cast<tutti::rank_type>(ranks);
      print_row(tutti::ring{}, n, bytes);
      print_row(tutti::butterfly{}, n, bytes);
      print_row(tutti::doubling{}, n, bytes);
      print_row(tutti::binary_tree{}, n, bytes);
      print_row(tutti::double_tree{}, n, bytes);
      print_row(tutti::chain{}, n, bytes);
      print_row(tutti::star{}, n, bytes);
      print_row(tutti::direct{}, n, bytes);
      print_row(tutti::in_network{}, n, bytes);
      print_row(bench::waited_ring{}, n, bytes);
    }
  }
} catch (std::exception const& e) {
  std::fprintf(stderr, "simulate: %s\n", e.what());
  return 1;
}
