// SPDX-License-Identifier: Apache-2.0
//
// Sums a vector again and again: threads, as one job of a switch, or, as `live`, processes of hosts.
//
//   sums DEVICE RANKS SLOTS BYTES SECONDS   says "ready", reads a line, sums for that long, and prints how many sums
//                                           there were, in how many seconds, and packets by the device and by rank 0
//   late DEVICE RANKS BYTES SUMS RANK:MS    computes for a millisecond before each sum, one rank for MS more, and
//                                           prints from the traces of all ranks which rank or device is the straggler;
//                                           DEVICE star: rank 0 adds, a server
//   live TOPOLOGY BYTES SUMS                as one rank of several, as the environment says: rank 0 prints the seconds
//                                           of each sum. TOPOLOGY: in_network, ring, star, doubling, butterfly,
//                                           or direct
#include "../common/numbers.hpp"
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/gather_timelines.hpp>
#include <tutti/in_network/fpga_nic.hpp>
#include <tutti/join.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/trace/straggler_report.hpp>
#include <tutti/trace/switched_trace.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/tcp.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using nic = tutti::fpga_nic<tutti::loopback>;

tutti::world_options<nic> options_with(std::string const& device) {
  tutti::world_options<nic> options;
  options.transport.network.device = device == "star" ? "" : device;
  return options;
}

template <class Results>
int exit_status(Results const& results) {
  for (auto const& r : results) {
    if (!r) {
      std::fprintf(stderr, "in_network_sums: %s\n", r.failure().text.c_str());
      return 1;
    }
  }
  return 0;
}

int sum_for(std::string const& device, tutti::rank_type ranks, std::uint32_t slots, std::size_t count, double seconds) {
  auto options = options_with(device);
  options.transport.slot_count = slots;
  return exit_status(tutti::spawn<nic>(
      ranks,
      [&](auto& world) {
        tutti::allreduce sum{world, tutti::in_network{}, tutti::sum<float>{}};
        tutti::barrier barrier{world, tutti::doubling{}};
        std::vector<float> v(count);
        sum(v);
        barrier();
        if (world.rank() == 0) {
          std::puts("ready");
          std::fflush(stdout);
          std::getchar();
        }
        barrier();
        auto const begin = std::chrono::steady_clock::now();
        auto const seconds_since_begin = [&] {
          return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        };
        long sums = 0;
        for (v[0] = 0; v[0] == 0; ++sums) {
          v[0] = world.rank() == 0 && seconds_since_begin() >= seconds ? 1.0F : 0.0F;  // tells all ranks of the end
          sum(v);
        }
        if (world.rank() == 0) {
          auto const counts = world.transport().counts();
          std::printf("%ld %.6f %llu %llu\n", sums, seconds_since_begin(),
                      static_cast<unsigned long long>(counts.results),
                      static_cast<unsigned long long>(counts.stand_in_results));
        }
      },
      options));
}

template <class World, class Topology>
void sum_late(World& world, Topology topology, std::size_t count, int sums, tutti::rank_type straggler,
              std::chrono::milliseconds delay) {
  using namespace std::chrono_literals;
  tutti::allreduce sum{world, topology, tutti::sum<float>{}};
  std::vector<float> v(count);
  for (int i = 0; i < sums; ++i) {
    std::this_thread::sleep_for(1ms + (world.rank() == straggler ? delay : 0ms));
    sum(v);
  }
  auto timelines = tutti::gather_timelines(world, tutti::timeline::copy_of(world.trace()));
  if (world.rank() == 0) {
    std::printf("%s", tutti::straggler_report(tutti::blame(tutti::causality(std::move(timelines)))).c_str());
  }
}

int find_late(std::string const& device, tutti::rank_type ranks, std::size_t count, int sums,
              std::string_view straggler) {
  std::size_t const colon = std::min(straggler.find(':'), straggler.size() - 1);
  auto const rank = static_cast<tutti::rank_type>(bench::whole("RANK", straggler.substr(0, colon)));
  std::chrono::milliseconds const delay(bench::whole("MS", straggler.substr(colon + 1)));
  return exit_status(tutti::spawn<nic>(
      ranks,
      [&](auto& world) {
        device == "star" ? sum_late(world, tutti::star{}, count, sums, rank, delay)
                         : sum_late(world, tutti::in_network{}, count, sums, rank, delay);
      },
      options_with(device), tutti::switched_trace(1U << 16)));
}

template <class World, class Topology>
void time_sums(World& world, Topology topology, std::size_t count, int sums) {
  tutti::allreduce sum{world, topology, tutti::sum<float>{}};
  tutti::barrier barrier{world, tutti::doubling{}};
  std::vector<float> v(count);
  sum(v);
  for (int i = 0; i < sums; ++i) {
    barrier();
    auto const begin = std::chrono::steady_clock::now();
    sum(v);
    barrier();
    if (world.rank() == 0) {
      std::printf("%.6f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
  }
}

template <class World>
bool time_sums_over(World& world, std::string_view topology, std::size_t count, int sums) {
  auto const run_if_chosen = [&](std::string_view name, auto candidate) {
    if (topology == name) {
      time_sums(world, candidate, count, sums);
    }
    return topology == name;
  };
  return run_if_chosen("in_network", tutti::in_network{}) || run_if_chosen("ring", tutti::ring{}) ||
         run_if_chosen("star", tutti::star{}) || run_if_chosen("doubling", tutti::doubling{}) ||
         run_if_chosen("butterfly", tutti::butterfly{}) || run_if_chosen("direct", tutti::direct{});
}

int sum_as_one_rank(std::string_view topology, std::size_t count, int sums) {
  try {
    auto world = tutti::join<tutti::fpga_nic<tutti::tcp>>();
    if (time_sums_over(world, topology, count, sums)) {
      return 0;
    }
    std::fprintf(stderr, "in_network_sums: %.*s is no topology that it has\n", static_cast<int>(topology.size()),
                 topology.data());
  } catch (tutti::error const& e) {
    std::fprintf(stderr, "in_network_sums: %s\n", e.what());
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string_view const mode = argc == 7 ? argv[1] : "";
  std::string_view const topology = argc == 5 && std::string_view(argv[1]) == "live" ? argv[2] : "";
  auto const number = [&](int i) {
    return static_cast<std::uint32_t>(bench::whole("argument " + std::to_string(i), argv[i]));
  };
  if (mode == "sums") {
    return sum_for(argv[2], number(3), number(4), number(5) / sizeof(float), bench::real("SECONDS", argv[6]));
  }
  if (mode == "late") {
    return find_late(argv[2], number(3), number(4) / sizeof(float), static_cast<int>(number(5)), argv[6]);
  }
  if (!topology.empty()) {
    return sum_as_one_rank(topology, number(3) / sizeof(float), static_cast<int>(number(4)));
  }
  std::fprintf(stderr,
               "usage: in_network_sums sums DEVICE RANKS SLOTS BYTES SECONDS\n"
               "       in_network_sums late DEVICE|star RANKS BYTES SUMS RANK:MS\n"
               "       in_network_sums live in_network|ring|star|doubling|butterfly|direct BYTES SUMS\n");
  return 2;
} catch (std::exception const& e) {
  std::fprintf(stderr, "in_network_sums: %s\n", e.what());
  return 2;
}
