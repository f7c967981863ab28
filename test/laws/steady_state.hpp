// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/operators.hpp>
#include <support/heap_and_locks.hpp>
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/alltoall.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/exchange.hpp>
#include <tutti/collective/exscan.hpp>
#include <tutti/collective/gather.hpp>
#include <tutti/collective/recv_any.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/collective/reduce_scatter.hpp>
#include <tutti/collective/scan.hpp>
#include <tutti/collective/scatter.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

#include <new>
#include <span>
#include <thread>

namespace laws {

/// The number of runs of an operation before it is watched, and of runs that are watched.
inline constexpr int operations_to_warm_up = 64;
inline constexpr int steady_operations = 200;

/// The memory and locks that `operate` requests on this rank in the steady state.
///
/// `rounds`: the most attempts until no rank requests anything. A transport may have to learn how many messages arrive
/// early before it has room for all of them, and a rank that runs ahead of others how many copies of its own messages
/// it keeps; an operation that requests something now and then would never stop.
template <class World, class Operate>
[[nodiscard]] support::heap_and_locks requests_of(World& world, int rounds, Operate operate) {
  tutti::allreduce maximum{world, tutti::doubling{}, tutti::max<std::uint64_t>{}};
  for (int i = 0; i < operations_to_warm_up; ++i) {
    operate();
  }
  support::heap_and_locks requests;
  for (std::uint64_t request_count = 1; request_count != 0 && rounds > 0; --rounds) {
    auto const initial_counts = support::thread_counts;
    for (int i = 0; i < steady_operations; ++i) {
      operate();
    }
    requests = support::thread_counts - initial_counts;
    request_count = requests.allocations + requests.locks;
    maximum(std::span(&request_count, 1));
  }
  return requests;
}

[[nodiscard]] inline std::string describe(support::heap_and_locks const& requests) {
  return std::to_string(requests.allocations) + " allocations and " + std::to_string(requests.locks) + " locks in " +
         std::to_string(steady_operations) + " operations";
}

/// A warmed-up operation requests no memory and takes no lock. Returns the requests of operations that do.
template <class World>
[[nodiscard]] std::string steady_state(World& world, std::size_t bytes, int rounds = 1) {
  using T = std::uint32_t;
  rank_type const n = world.size();
  rank_type const me = world.rank();
  std::size_t const count = bytes / sizeof(T);
  std::vector<T> const input(count, 1);
  std::vector<T> output(count);
  std::vector<T> other(count);
  std::vector<T> const local_block(input.begin(),
                                   input.begin() + static_cast<std::ptrdiff_t>(block_of(input, n, me).size()));
  std::vector<T> part(local_block.size());
  std::vector<T> const wide(count * n, 1);
  std::vector<T> wide_output(count * n);
  tutti::sum<T> const add;

  std::string complaint;
  auto const law = [&](std::string const& name, auto operate, int least_rounds = 1) {  // every rank runs all of them
    support::heap_and_locks const requests = requests_of(world, rounds < least_rounds ? least_rounds : rounds, operate);
    if (complaint.empty() && requests.allocations + requests.locks != 0) {
      complaint = name + " of " + std::to_string(bytes) + " bytes: " + describe(requests);
    }
  };

  auto const allreduces = [&](auto topology) {
    tutti::allreduce op{world, topology, add};
    std::string const name = "allreduce over " + std::string(decltype(topology)::name);
    law(name + " in place", [&] { op(output); });
    law(name + " out of place", [&] { op(input, output); });
    law(name + " started", [&] { op.start(output).wait(); });
    law(name + " started twice, tested", [&] {
      auto first = op.start(output);
      auto second = op.start(input, other);
      while (!first.test() || !second.test()) {
        std::this_thread::yield();
      }
    });
    op.segment(256);
    law(name + " in segments", [&] { op(output); });
  };
  allreduces(tutti::doubling{});
  allreduces(tutti::ring{});
  allreduces(tutti::butterfly{});
  allreduces(tutti::binary_tree{});

  std::vector<float> const floats(count, 1);
  std::vector<float> mean(count);
  tutti::allreduce mean_of{world, tutti::ring{}, wide_mean{}};
  law("allreduce with accumulators that are no elements", [&] { mean_of(floats, mean); });

  tutti::reduce reduce{world, tutti::binary_tree{}, add};
  law("reduce", [&] { reduce(input, output, 0); });
  tutti::broadcast share{world, tutti::binary_tree{}};
  law("broadcast", [&] { share(output, 0); });
  tutti::reduce_scatter scatter_sums{world, tutti::ring{}, add};
  law("reduce_scatter", [&] { scatter_sums(input, part); });
  tutti::scan running{world, tutti::doubling{}, add};
  law("scan", [&] { running(input, output); });
  law(
      "scan in place", [&] { running(output); }, 20);
  tutti::exscan offset{world, tutti::doubling{}, add};
  law(
      "exscan", [&] { offset(output); }, 20);
  tutti::allgather collect{world, tutti::ring{}};
  law("allgather", [&] { collect(local_block, output); });
  tutti::gather gather{world, tutti::star{}};
  law("gather", [&] { gather(local_block, output, 0, count); });
  tutti::scatter scatter{world, tutti::star{}};
  law("scatter", [&] { scatter(input, part, 0, count); });
  tutti::alltoall exchange{world, tutti::direct{}};
  law("alltoall", [&] { exchange(wide, wide_output); });
  tutti::partition const pairs(std::vector<std::size_t>(world.size(), wide.size() / world.size()));
  law("alltoall of any lengths", [&] { exchange(wide, wide_output, pairs, pairs); });
  tutti::barrier meet{world, tutti::doubling{}};
  law("barrier", [&] { meet(); });
  tutti::send give{world};
  tutti::recv take{world};
  law("send and recv", [&] {
    auto pending = give.start(input, (me + 1) % n);
    take(output, (me + n - 1) % n);
    pending.wait();
  });
  std::vector<T> container;
  container.reserve(count);
  tutti::exchange list{world};
  list.recv(output, (me + n - 1) % n);
  list.recv(tutti::any_length(container), (me + 1) % n);
  list.send(input, (me + 1) % n);
  list.send(tutti::any_length(input), (me + n - 1) % n);
  law("exchange", [&] { list(); });
  tutti::recv_any take_any{world};
  law("send and recv_any", [&] {
    auto pending = give.start(input, (me + 1) % n);
    take_any(output);
    pending.wait();
  });
  return complaint;
}

/// Requests of a reduction are observed, so the laws above can fail. A transport may allocate, too.
template <class World>
[[nodiscard]] std::string what_is_asked_for_is_seen(World& world) {
  auto const observe = [&](auto&& request) {
    tutti::allreduce op{world, tutti::doubling{}, tutti::reduce_with<int>([&](int a, int b) {
                          request();
                          return a + b;
                        })};
    int x = 1;
    return requests_of(world, 1, [&] { op(std::span(&x, 1)); });
  };
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  support::heap_and_locks const of_memory = observe([] { ::operator delete(::operator new(1)); });
  support::heap_and_locks const of_locks = observe([&] {
    ::pthread_mutex_lock(&mutex);
    ::pthread_mutex_unlock(&mutex);
  });
  return of_memory.allocations >= steady_operations && of_memory.locks == 0 && of_locks.locks == steady_operations
             ? ""
             : "counted " + describe(of_memory) + "; " + describe(of_locks);
}

}  // namespace laws
