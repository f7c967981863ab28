// SPDX-License-Identifier: Apache-2.0
//
// Ranks that are processes, one for each card, or two that take turns on one. Checks that operations are right and
// that a killed rank is named in time, and compares with NCCL where there are two cards. Built and run by
// bench/gpu/run, which defines BENCH_HAS_NCCL where NCCL is found. `processes [<file for JSON> [<bytes>]]`
#include "measure.hpp"
#include "worlds.hpp"
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/cuda/peers.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/shared_memory.hpp>

#ifdef BENCH_HAS_NCCL
#include <nccl.h>
#endif

#include <chrono>
#include <csignal>
#include <exception>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace {

namespace cuda = tutti::cuda;
using bench::gpu::measurement;
using bench::gpu::on_host;
using bench::gpu::report;
using bench::gpu::slowest;
using bench::gpu::sum_of_floats;
using tutti::rank_type;
using transport = cuda::peers<tutti::shared_memory>;
using clock_type = std::chrono::steady_clock;

void check(cudaError_t code, char const* purpose) {
  tutti::detail::runtime::examine(code, [purpose] { return std::string(purpose); });
}

/// Seconds of one operation, when ten are put into the stream at a time; the median of some rounds.
template <class World, class Enqueue>
[[nodiscard]] double seconds_each(World& world, cuda::stream const& stream, Enqueue const& enqueue) {
  constexpr int runs = 10;
  tutti::barrier meet{world, tutti::doubling{}};
  bench::gpu::mark begin;
  bench::gpu::mark end;
  std::vector<double> times;
  for (int i = 0; i != 9; ++i) {
    stream.wait();
    meet();
    begin.set(stream);
    for (int k = 0; k != runs; ++k) {
      enqueue();
    }
    end.set(stream);
    cuda::wait(world, stream);
    times.push_back(end.seconds_since(begin) / runs);
  }
  return bench::gpu::median(times);
}

#ifdef BENCH_HAS_NCCL
struct nccl_failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void check(ncclResult_t code, char const* purpose) {
  if (code != ncclSuccess) {
    throw nccl_failed(std::string(purpose) + " failed: " + ncclGetErrorString(code));
  }
}
/// Seconds of an allreduce by NCCL, whose sums may have other bits.
template <class World>
[[nodiscard]] double seconds_of_nccl(World& world, cuda::array<float> const& input, cuda::array<float> const& output,
                                     cuda::stream const& stream) {
  ncclUniqueId id{};
  if (world.rank() == 0) {
    check(ncclGetUniqueId(&id), "making an id of NCCL");
  }
  std::vector<char> local_id(sizeof id);
  std::memcpy(local_id.data(), &id, world.rank() == 0 ? sizeof id : 0);
  std::vector<char> ids(sizeof id * world.size());
  tutti::allgather{world, tutti::ring{}}(local_id, ids);
  std::memcpy(&id, ids.data(), sizeof id);
  ncclComm_t comm = nullptr;
  check(ncclCommInitRank(&comm, static_cast<int>(world.size()), id, static_cast<int>(world.rank())), "joining NCCL");
  double const seconds = seconds_each(world, stream, [&] {
    check(ncclAllReduce(input.data(), output.data(), input.size(), ncclFloat, ncclSum, comm, stream.native()),
          "NCCL's sum");
  });
  check(ncclCommDestroy(comm), "leaving NCCL");
  return seconds;
}
#endif

/// Runs an allreduce in place, out of place and in a graph, and measures it.
template <class Topology>
[[nodiscard]] measurement allreduce(Topology const& topology, rank_type n, std::size_t count, bool share_gpu) {
  auto const expected = on_host(topology, n, count);
  return slowest(tutti::spawn<transport>(n, [&](auto& world) {
    tutti::allreduce sum{world, topology, sum_of_floats{}};
    cuda::stream const stream;
    auto const numbers = bench::gpu::random_numbers<float>(count, world.rank() + 1);
    cuda::array<float> const input(count);
    cuda::array<float> const output(count);
    input.copy_from(numbers, stream);
    bench::gpu::poison(output, stream);
    sum.enqueue(input, output, stream);
    cuda::wait(world, stream);
    bool right = bench::gpu::holds(output, expected, stream) && bench::gpu::holds(input, numbers, stream);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    check(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeThreadLocal), "capturing a stream");
    sum.enqueue(input, stream);
    check(cudaStreamEndCapture(stream.native(), &graph), "ending a capture");
    check(cudaGraphInstantiate(&ready, graph, 0), "making a graph");
    check(cudaGraphLaunch(ready, stream.native()), "launching a graph");
    cuda::wait(world, stream);
    right = right && bench::gpu::holds(input, expected, stream);
    static_cast<void>(cudaGraphExecDestroy(ready));
    static_cast<void>(cudaGraphDestroy(graph));
    measurement result{0, right};
    input.copy_from(numbers, stream);
    if (!share_gpu) {
      result.seconds = seconds_each(world, stream, [&] { sum.enqueue(input, output, stream); });
#ifdef BENCH_HAS_NCCL
      try {
        result.nccl_seconds = seconds_of_nccl(world, input, output, stream);
      } catch (nccl_failed const& e) {  // the figures of tutti remain useful
        std::printf("left out: NCCL on rank %u: %s\n", world.rank(), e.what());
      }
#endif
    }
    return result;
  }));
}

/// Seconds until the others know of a rank whose process is killed while they wait for it.
[[nodiscard]] measurement measure_kill(tutti::duration deadline) {
  tutti::world_options<transport> options;
  options.deadline = deadline;
  auto const results = tutti::spawn<transport>(
      3,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::ring{}, sum_of_floats{}};
        cuda::stream const stream;
        cuda::array<float> const v(1000);
        bench::gpu::poison(v, stream);
        auto begin_time = clock_type::now();
        try {
          sum.enqueue(v, stream);
          cuda::wait(world, stream);
          if (world.rank() == 1) {  // others may still wait for rank 0
            ::kill(::getpid(), SIGKILL);
          }
          begin_time = clock_type::now();
          sum.enqueue(v, stream);
          cuda::wait(world, stream);
          return measurement{};
        } catch (tutti::error const& e) {
          bool const is_named = std::string(e.what()).find("rank 1") != std::string::npos;
          return measurement{std::chrono::duration<double>(clock_type::now() - begin_time).count(),
                             is_named && e.kind() == tutti::failure::peer_lost};
        }
      },
      options);
  measurement world_result{0, !results[1]};
  for (rank_type const r : {0U, 2U}) {
    world_result.seconds = std::max(world_result.seconds, results[r].value().seconds);
    world_result.right = world_result.right && results[r].value().right;
  }
  return world_result;
}

/// Adds a result. Its target is the time of NCCL.
void add_against_nccl(report& table, std::string const& description, measurement const& result) {
  if (result.nccl_seconds != 0) {
    table.add(description + "; target: NCCL", result.seconds * 1e6, result.nccl_seconds * 1e6, "us", result.right);
  } else {
    table.add_without_target(description, result.seconds * 1e6, "us", result.right);
  }
}
void measure_gpus(report& table, rank_type gpus, std::size_t max_bytes) {
  for (std::size_t const bytes : {std::size_t{4} << 10, max_bytes / 64, max_bytes}) {
    std::string const description = std::to_string(gpus) + " cards, " + bench::gpu::size_text(bytes);
    measurement const direct = allreduce(tutti::direct{}, gpus, bytes / sizeof(float), false);
    measurement const ring = allreduce(tutti::ring{}, gpus, bytes / sizeof(float), false);
    add_against_nccl(table, "allreduce by direct, " + description, direct);
    add_against_nccl(table, "allreduce by ring, " + description, ring);
  }
}

void run(report& table, int devices, std::size_t bytes) {
  if (devices >= 2) {
    measure_gpus(table, static_cast<rank_type>(std::min(devices, 8)), bytes);
  } else {
    std::puts("left out: NCCL and times between cards need two cards; processes on one card take turns");
    measurement const direct = allreduce(tutti::direct{}, 2, 100'003, true);
    measurement const ring = allreduce(tutti::ring{}, 2, 100'003, true);
    table.add_without_target("allreduce by direct, 2 processes on a card, in a graph", 0, "", direct.right);
    table.add_without_target("allreduce by ring, 2 processes on a card, in a graph", 0, "", ring.right);
  }
#ifndef BENCH_HAS_NCCL
  std::puts("left out: NCCL, which was not found (--prefix FOLDER says where it is)");
#endif
  measurement const loss = measure_kill(std::chrono::seconds(5));
  table.add("a killed process is named, deadline 5 s", loss.seconds, 6, "s", loss.right);
}

/// Facts that a process finds out by using the GPU. Its parent must not use it, because it forks more processes.
struct machine {
  int devices = 0;
  double bandwidth = 0;
  char name[128] = {};
};

}  // namespace

int main(int count, char** words) {
  try {
    bench::gpu::arguments const options(count, words);
    auto const results = tutti::detail::run_processes(1, [&options](auto&) {
      machine m{.devices = bench::gpu::devices()};
      if (m.devices != 0) {
        m.bandwidth = bench::gpu::copy_bandwidth(cuda::stream(), options.bytes());
        std::strncpy(m.name, bench::gpu::device_name().c_str(), sizeof m.name - 1);
      }
      return m;
    });
    machine const facts = results[0].value();
    if (facts.devices == 0) {
      std::puts("SKIPPED: no CUDA device");
      return bench::gpu::skip_status;
    }
    report table("processes", facts.bandwidth, facts.name);
    run(table, facts.devices, options.bytes());
    return table.end(options.file());
  } catch (std::exception const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
