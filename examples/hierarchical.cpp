// SPDX-License-Identifier: Apache-2.0
//
// Several ranks per host. Ranks of one host use shared memory, hosts TCP. A hierarchical allreduce sums on each host
// first, so that few messages travel between hosts. Start it under a launcher on several hosts, or alone: then six
// processes here act as two hosts of three.
#include <tutti/join.hpp>
#include <tutti/transport/by_locality.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <cstdio>
#include <exception>
#include <vector>

using transport = tutti::by_locality<tutti::shared_memory, tutti::tcp>;

/// Number of elements that this rank sends to other hosts in one allreduce, read off the schedule.
template <class World, class Topology>
std::size_t elements_to_other_hosts(World const& world, Topology const& topology, std::size_t count) {
  tutti::op::allreduce const op;
  tutti::rank_type const n = world.size();
  std::uint32_t const blocks = topology.blocks(op, n);
  std::size_t elements = 0;
  for (std::uint32_t i = 0; i < topology.steps(op, n, world.rank()); ++i) {
    auto const send = topology.at(op, n, world.rank(), i).send;
    if (send.peer != tutti::no_rank && world.hosts().host(send.peer) != world.hosts().host(world.rank())) {
      for (std::uint32_t b = 0; b < send.blocks.count; ++b) {
        elements += tutti::block_size(count, blocks, (send.blocks.first + b) % blocks);
      }
    }
  }
  return elements;
}

/// True if the sum is right. Rank 0 prints the time it took.
bool run(tutti::communicator<transport>& world) {
  world.deadline(std::chrono::seconds(30));
  constexpr std::size_t count = 1 << 20;
  bool right = true;
  auto const measure = [&](char const* name, auto topology) {
    tutti::allreduce sum{world, topology, tutti::sum<float>{}};
    tutti::allreduce total{world, tutti::doubling{}, tutti::sum<std::uint64_t>{}};
    sum.segment(std::size_t{256} << 10);
    std::vector<float> v(count, 1);
    auto const begin = tutti::steady_now();
    sum(v);
    auto const milliseconds = static_cast<double>((tutti::steady_now() - begin).count()) * 1e-6;
    right = right && v.front() == static_cast<float>(world.size()) && v.back() == v.front();

    std::uint64_t bytes = elements_to_other_hosts(world, topology, count) * sizeof(float);
    total(std::span(&bytes, 1));
    if (world.rank() == 0) {
      std::printf("%-32s %7.2f ms, %6.2f MiB between %u hosts\n", name, milliseconds,
                  static_cast<double>(bytes) / (1 << 20), world.hosts().hosts());
    }
  };
  measure("doubling", tutti::doubling{});
  measure("ring", tutti::ring{});
  measure("hierarchical, binary_tree + ring", tutti::hierarchical{tutti::binary_tree{}, tutti::ring{}, world.hosts()});
  return right;
}

int main() try {
  if (tutti::is_launched()) {
    auto world = tutti::join<transport>();
    return run(world) ? 0 : 1;
  }
  tutti::world_options<transport> options;
  options.transport.ranks_per_host = 3;
  bool right = true;
  for (auto const& result : tutti::spawn<transport>(6, run, options)) {
    right = result.value() && right;
  }
  return right ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
