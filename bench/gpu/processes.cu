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
using bench::gpu::found;
using bench::gpu::of_all;
using bench::gpu::on_host;
using bench::gpu::report;
using bench::gpu::sum_of_floats;
using tutti::rank_type;
using transport = cuda::peers<tutti::shared_memory>;
using clock_type = std::chrono::steady_clock;

void check(cudaError_t code, char const* doing) {
  tutti::detail::runtime::examine(code, [doing] { return std::string(doing); });
}

/// Seconds of one operation, when ten are put into the stream at a time; the median of some rounds.
template <class World, class Put>
[[nodiscard]] double seconds_each(World& world, cuda::stream const& stream, Put const& put) {
  constexpr int runs = 10;
  tutti::barrier meet{world, tutti::doubling{}};
  bench::gpu::mark begin;
  bench::gpu::mark end;
  std::vector<double> all;
  for (int i = 0; i != 9; ++i) {
    stream.wait();
    meet();
    begin.set(stream);
    for (int k = 0; k != runs; ++k) {
      put();
    }
    end.set(stream);
    cuda::wait(world, stream);
    all.push_back(end.since(begin) / runs);
  }
  return bench::gpu::median(all);
}

#ifdef BENCH_HAS_NCCL
struct nccl_failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void check(ncclResult_t code, char const* doing) {
  if (code != ncclSuccess) {
    throw nccl_failed(std::string(doing) + " failed: " + ncclGetErrorString(code));
  }
}
/// Seconds of an allreduce by NCCL, whose sums may have other bits.
template <class World>
[[nodiscard]] double seconds_of_nccl(World& world, cuda::array<float> const& in, cuda::array<float> const& out,
                                     cuda::stream const& stream) {
  ncclUniqueId id{};
  if (world.rank() == 0) {
    check(ncclGetUniqueId(&id), "making an id of NCCL");
  }
  std::vector<char> mine(sizeof id);
  std::memcpy(mine.data(), &id, world.rank() == 0 ? sizeof id : 0);
  std::vector<char> all(sizeof id * world.size());
  tutti::allgather{world, tutti::ring{}}(mine, all);
  std::memcpy(&id, all.data(), sizeof id);
  ncclComm_t comm = nullptr;
  check(ncclCommInitRank(&comm, static_cast<int>(world.size()), id, static_cast<int>(world.rank())), "joining NCCL");
  double const seconds = seconds_each(world, stream, [&] {
    check(ncclAllReduce(in.data(), out.data(), in.size(), ncclFloat, ncclSum, comm, stream.native()), "NCCL's sum");
  });
  check(ncclCommDestroy(comm), "leaving NCCL");
  return seconds;
}
#endif

/// Runs an allreduce in place, out of place and in a graph, and measures it.
template <class Topology>
[[nodiscard]] found allreduce(Topology const& topology, rank_type n, std::size_t count, bool one_card) {
  auto const wanted = on_host(topology, n, count);
  return of_all(tutti::spawn<transport>(n, [&](auto& world) {
    tutti::allreduce sum{world, topology, sum_of_floats{}};
    cuda::stream const stream;
    auto const mine = bench::gpu::drawn<float>(count, world.rank() + 1);
    cuda::array<float> const in(count);
    cuda::array<float> const out(count);
    in.copy_from(mine, stream);
    bench::gpu::poison(out, stream);
    sum.enqueue(in, out, stream);
    cuda::wait(world, stream);
    bool right = bench::gpu::holds(out, wanted, stream) && bench::gpu::holds(in, mine, stream);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    check(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeThreadLocal), "capturing a stream");
    sum.enqueue(in, stream);
    check(cudaStreamEndCapture(stream.native(), &graph), "ending a capture");
    check(cudaGraphInstantiate(&ready, graph, 0), "making a graph");
    check(cudaGraphLaunch(ready, stream.native()), "launching a graph");
    cuda::wait(world, stream);
    right = right && bench::gpu::holds(in, wanted, stream);
    static_cast<void>(cudaGraphExecDestroy(ready));
    static_cast<void>(cudaGraphDestroy(graph));
    found f{0, right};
    in.copy_from(mine, stream);
    if (!one_card) {
      f.seconds = seconds_each(world, stream, [&] { sum.enqueue(in, out, stream); });
#ifdef BENCH_HAS_NCCL
      try {
        f.of_nccl = seconds_of_nccl(world, in, out, stream);
      } catch (nccl_failed const& e) {  // the figures of tutti remain useful
        std::printf("left out: NCCL on rank %u: %s\n", world.rank(), e.what());
      }
#endif
    }
    return f;
  }));
}

/// Seconds until the others know of a rank whose process is killed while they wait for it.
[[nodiscard]] found killed(tutti::duration deadline) {
  tutti::world_options<transport> o;
  o.deadline = deadline;
  auto const results = tutti::spawn<transport>(
      3,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::ring{}, sum_of_floats{}};
        cuda::stream const stream;
        cuda::array<float> const v(1000);
        bench::gpu::poison(v, stream);
        auto begun = clock_type::now();
        try {
          sum.enqueue(v, stream);
          cuda::wait(world, stream);
          if (world.rank() == 1) {  // others may still wait for rank 0
            ::kill(::getpid(), SIGKILL);
          }
          begun = clock_type::now();
          sum.enqueue(v, stream);
          cuda::wait(world, stream);
          return found{};
        } catch (tutti::error const& e) {
          bool const named = std::string(e.what()).find("rank 1") != std::string::npos;
          return found{std::chrono::duration<double>(clock_type::now() - begun).count(),
                       named && e.kind() == tutti::failure::peer_lost};
        }
      },
      o);
  found all{0, !results[1]};
  for (rank_type const r : {0U, 2U}) {
    all.seconds = std::max(all.seconds, results[r].value().seconds);
    all.right = all.right && results[r].value().right;
  }
  return all;
}

/// Adds a result. Its target is the time of NCCL.
void against_nccl(report& all, std::string const& what, found const& f) {
  if (f.of_nccl != 0) {
    all.add(what + "; target: NCCL", f.seconds * 1e6, f.of_nccl * 1e6, "us", f.right);
  } else {
    all.only(what, f.seconds * 1e6, "us", f.right);
  }
}
void on_cards(report& all, rank_type cards, std::size_t most) {
  for (std::size_t const bytes : {std::size_t{4} << 10, most / 64, most}) {
    std::string const what = std::to_string(cards) + " cards, " + bench::gpu::size_text(bytes);
    found const direct = allreduce(tutti::direct{}, cards, bytes / sizeof(float), false);
    found const ring = allreduce(tutti::ring{}, cards, bytes / sizeof(float), false);
    against_nccl(all, "allreduce by direct, " + what, direct);
    against_nccl(all, "allreduce by ring, " + what, ring);
  }
}

void run(report& all, int devices, std::size_t bytes) {
  if (devices >= 2) {
    on_cards(all, static_cast<rank_type>(std::min(devices, 8)), bytes);
  } else {
    std::puts("left out: NCCL and times between cards need two cards; processes on one card take turns");
    found const direct = allreduce(tutti::direct{}, 2, 100'003, true);
    found const ring = allreduce(tutti::ring{}, 2, 100'003, true);
    all.only("allreduce by direct, 2 processes on a card, in a graph", 0, "", direct.right);
    all.only("allreduce by ring, 2 processes on a card, in a graph", 0, "", ring.right);
  }
#ifndef BENCH_HAS_NCCL
  std::puts("left out: NCCL, which was not found (--prefix FOLDER says where it is)");
#endif
  found const lost = killed(std::chrono::seconds(5));
  all.add("a killed process is named, deadline 5 s", lost.seconds, 6, "s", lost.right);
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
    bench::gpu::arguments const given(count, words);
    auto const asked = tutti::detail::run_processes(1, [&given](auto&) {
      machine m{.devices = bench::gpu::devices()};
      if (m.devices != 0) {
        m.bandwidth = bench::gpu::copy_bandwidth(cuda::stream(), given.bytes());
        std::strncpy(m.name, bench::gpu::device_name().c_str(), sizeof m.name - 1);
      }
      return m;
    });
    machine const here = asked[0].value();
    if (here.devices == 0) {
      std::puts("SKIPPED: no CUDA device");
      return bench::gpu::skipped;
    }
    report all("processes", here.bandwidth, here.name);
    run(all, here.devices, given.bytes());
    return all.end(given.file());
  } catch (std::exception const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
