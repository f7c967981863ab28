// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of equal bits for any number of ranks. Allreduces of equal length: plain sums of float and of
// double, reproducible sums of float, and of accumulators that are rounded in the end, as training adds them.
// Contenders take turns; lower quartiles of rank 0.
//
//     reproducible <shared_memory|tcp> <ranks> [rounds]
//     reproducible launched [rounds]        on hosts of a shaped network: one process on each, with TUTTI_JOB,
//                                           TUTTI_RANK, TUTTI_SIZE and TUTTI_MASTER_ADDR
#include "common/numbers.hpp"
#include <tutti/allocator.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/join.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reproducible_sum.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstdio>
#include <exception>
#include <random>
#include <string_view>
#include <vector>

namespace {

constexpr std::array<std::size_t, 5> sizes{64U << 10, 256U << 10, 1U << 20, 4U << 20, 16U << 20};  // length as float
constexpr std::array contenders{"float", "double", "reproducible", "accumulators"};

/// The operands and the operator of one contender.
template <class World, class Topology, class Reduction>
class contender {
 public:
  using number = typename Reduction::value_type;
  using contribution = tutti::contribution_t<Reduction>;

  contender(World& world, Topology topology, std::size_t count)
      : sum_(world, topology, Reduction{}),
        input_(count, contribution{}, tutti::allocator<contribution>(world)),
        output_(count, number{}, tutti::allocator<number>(world)) {
    // Numbers like gradients: of either sign, over a few binades.
    std::mt19937 random(world.rank());
    std::normal_distribution<float> gradient(0.0F, 0.01F);
    for (contribution& x : input_) {
      if constexpr (std::same_as<contribution, tutti::binned_sum>) {
        x = tutti::reproducible_sum<float>::lift(gradient(random));
      } else {
        x = static_cast<contribution>(gradient(random));
      }
    }
  }

  void operator()() { sum_(input_, output_); }

 private:
  tutti::allreduce<World, Topology, Reduction> sum_;
  std::vector<contribution, tutti::allocator<contribution>> input_;
  std::vector<number, tutti::allocator<number>> output_;
};

/// Milliseconds of each contender at this size.
template <class Topology, class World>
std::vector<double> compare(World& world, std::size_t count, int rounds) {
  contender<World, Topology, tutti::sum<float>> floats(world, {}, count);
  contender<World, Topology, tutti::sum<double>> doubles(world, {}, count);
  contender<World, Topology, tutti::reproducible_sum<float>> reproducible(world, {}, count);
  contender<World, Topology, tutti::reproducible_sum<tutti::binned_sum, float>> accumulators(world, {}, count);
  tutti::barrier ready{world, tutti::doubling{}};
  std::array<std::vector<double>, contenders.size()> times;
  auto const calls = std::max(std::size_t{1}, (std::size_t{1} << 18) / count);
  for (int round = 0; round <= rounds; ++round) {
    std::size_t c = 0;
    auto const measure = [&](auto& sum) {
      sum();
      ready();
      auto const begin = std::chrono::steady_clock::now();
      for (std::size_t i = 0; i != calls; ++i) {
        sum();
      }
      std::chrono::duration<double, std::milli> const duration = std::chrono::steady_clock::now() - begin;
      if (round != 0) {
        times[c].push_back(duration.count() / static_cast<double>(calls));
      }
      ++c;
    };
    measure(floats);
    measure(doubles);
    measure(reproducible);
    measure(accumulators);
  }
  std::vector<double> quartiles;
  for (auto& samples : times) {
    std::sort(samples.begin(), samples.end());
    quartiles.push_back(samples[samples.size() / 4]);
  }
  return quartiles;
}

/// Prints one line: the times of all contenders.
void print(std::string_view transport, std::string_view topology, tutti::rank_type ranks, std::size_t bytes,
           std::vector<double> const& ms) {
  std::printf("%-14s %-10s %2u ranks %6zu KiB of float: %9.3f ms", transport.data(), topology.data(), ranks,
              bytes >> 10, ms[0]);
  for (std::size_t c = 1; c != contenders.size(); ++c) {
    std::printf("   %s x %.2f", contenders[c], ms[c] / ms[0]);
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// Runs among processes that it spawns.
template <class Transport, class Topology>
bool run(tutti::rank_type ranks, int rounds) {
  for (std::size_t const bytes : sizes) {
    auto const ends = tutti::spawn<Transport>(
        ranks, [&](auto& world) { return compare<Topology>(world, bytes / sizeof(float), rounds); });
    if (!ends[0].has_value()) {
      std::fprintf(stderr, "%s\n", ends[0].failure().text.c_str());
      return false;
    }
    print(Transport::name, Topology::name, ranks, bytes, ends[0].value());
  }
  return true;
}

template <class Transport>
bool run(tutti::rank_type ranks, int rounds) {
  return run<Transport, tutti::ring>(ranks, rounds) && run<Transport, tutti::butterfly>(ranks, rounds);
}

/// Runs among processes of a launcher, on any hosts.
template <class Topology, class World>
void run_launched(World& world, int rounds) {
  for (std::size_t const bytes : sizes) {
    auto const ms = compare<Topology>(world, bytes / sizeof(float), rounds);
    if (world.rank() == 0) {
      print("tcp", Topology::name, world.size(), bytes, ms);
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::string_view const transport = argc > 1 ? argv[1] : "";
  bool const is_launched = transport == "launched";
  auto const ranks = static_cast<tutti::rank_type>(argc > 2 && !is_launched ? bench::whole("ranks", argv[2], 1) : 0);
  int const rounds_index = is_launched ? 2 : 3;
  int const rounds = argc > rounds_index ? static_cast<int>(bench::whole("rounds", argv[rounds_index], 1)) : 9;
  if (!is_launched && ((transport != "shared_memory" && transport != "tcp") || ranks == 0)) {
    std::fprintf(stderr,
                 "usage: reproducible <shared_memory|tcp> <ranks> [rounds]\n"
                 "       reproducible launched [rounds]\n");
    return 2;
  }
  if (is_launched) {
    auto world = tutti::join<tutti::tcp>();
    run_launched<tutti::ring>(world, rounds);
    run_launched<tutti::butterfly>(world, rounds);
    return 0;
  }
  bool const is_successful =
      transport == "tcp" ? run<tutti::tcp>(ranks, rounds) : run<tutti::shared_memory>(ranks, rounds);
  return is_successful ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "reproducible: %s\n", e.what());
  return 1;
}
