// SPDX-License-Identifier: Apache-2.0
//
// Operations of ranks on GPUs, each rank a thread of this process. Compares their speed with the memory bandwidth of
// one card, and measures short operations replayed by a graph. Compares all values with the same operation on host
// memory; failures must be named in time. Two processes over tcp, whose elements go through host memory, are compared
// with the same on host memory. Built and run by bench/gpu/run. `transports [<file for JSON> [<bytes>]]`
#include "measure.hpp"
#include "worlds.hpp"
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/collective/reduce_scatter.hpp>
#include <tutti/cuda/detail/device/step_table.hpp>
#include <tutti/cuda/peers.hpp>
#include <tutti/cuda/staged_transport.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/tcp.hpp>

#include <chrono>
#include <exception>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace cuda = tutti::cuda;
namespace device = tutti::detail::device;
namespace op = tutti::op;
using bench::gpu::measurement;
using bench::gpu::on_host;
using bench::gpu::report;
using bench::gpu::slowest;
using bench::gpu::sum_of_floats;
using tutti::rank_type;
using transport = cuda::peers<tutti::loopback>;
using clock_type = std::chrono::steady_clock;

/// Runs all ranks on one card.
template <class F>
[[nodiscard]] auto on_ranks(rank_type n, F const& f, tutti::duration deadline = std::chrono::seconds(30)) {
  tutti::world_options<transport> options;
  options.deadline = deadline;
  options.transport.device = 0;
  return tutti::spawn<transport>(n, f, options);
}

/// Bytes that the steps of all ranks read and write.
template <class Topology>
[[nodiscard]] double bytes_of_steps(Topology const& topology, rank_type n, std::size_t count) {
  double bytes = 0;
  for (rank_type me = 0; me != n; ++me) {
    device::step_list const steps(topology, op::allreduce{}, n, me, {.input_is_output = true, .work_is_output = true});
    device::step_table const t = steps.view();
    double const block = static_cast<double>(count) / t.blocks * sizeof(float);
    for (std::uint32_t i = 0; i != t.step_count; ++i) {
      tutti::step const& s = t.steps[i].step;
      bytes += t.steps[i].snapshot ? 2 * block * s.send.blocks.count : 0;
      if (s.receives()) {
        bytes += (s.action == tutti::action::copy ? 2 : 3) * block * s.receive.blocks.count;
      } else if (!s.sends()) {
        bytes += 2 * block * s.send.blocks.count;
      }
    }
  }
  return bytes;
}

/// Checks an allreduce of n ranks, in place and out of place, and measures it in place.
template <class Topology>
[[nodiscard]] measurement allreduce(Topology const& topology, rank_type n, std::size_t count) {
  auto const expected = on_host(topology, n, count);
  auto const results = on_ranks(n, [&](auto& world) {
    tutti::allreduce sum{world, topology, sum_of_floats{}};
    tutti::barrier meet{world, tutti::doubling{}};
    cuda::stream const stream;
    auto const numbers = bench::gpu::random_numbers<float>(count, world.rank() + 1);
    cuda::array<float> const input(count);
    cuda::array<float> const output(count);
    input.copy_from(numbers, stream);
    bench::gpu::poison(output, stream);
    stream.wait();
    meet();  // allocation may wait for operations of others
    sum.enqueue(input, output, stream);
    cuda::wait(world, stream);
    bool right = bench::gpu::holds(output, expected, stream) && bench::gpu::holds(input, numbers, stream);
    sum.enqueue(input, stream);
    cuda::wait(world, stream);
    right = right && bench::gpu::holds(input, expected, stream);
    std::vector<double> times;
    bench::gpu::mark begin;
    bench::gpu::mark end;
    auto const [rounds, runs] = bench::gpu::repeats_of(count * sizeof(float));
    for (int i = 0; i != rounds; ++i) {
      bench::gpu::poison(input, stream);  // sums of poison are numbers, too
      stream.wait();
      meet();
      begin.set(stream);
      for (int k = 0; k != runs; ++k) {
        sum.enqueue(input, output, stream);
      }
      end.set(stream);
      cuda::wait(world, stream);
      times.push_back(end.seconds_since(begin) / runs);
    }
    return measurement{bench::gpu::median(times), right};
  });
  return slowest(results);
}

/// Microseconds of an allreduce of 4 KiB, 100 of them in a graph that is replayed.
template <class Topology>
[[nodiscard]] measurement measure_graph(Topology const& topology, rank_type n, int replays) {
  constexpr std::size_t count = 1024;
  constexpr int length = 100;
  auto const results = on_ranks(n, [&](auto& world) {
    tutti::allreduce maximum{world, topology, tutti::max<float>{}};
    tutti::barrier meet{world, tutti::doubling{}};
    cuda::stream const stream;
    cuda::array<float> const v(count);
    v.copy_from(std::vector<float>(count, static_cast<float>(world.rank())), stream);
    stream.wait();
    auto const check = [](cudaError_t code, char const* purpose) {
      tutti::detail::runtime::examine(code, [purpose] { return std::string(purpose); });
    };
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    check(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeThreadLocal), "capturing a stream");
    for (int i = 0; i != length; ++i) {
      maximum.enqueue(v, stream);
    }
    check(cudaStreamEndCapture(stream.native(), &graph), "ending a capture");
    check(cudaGraphInstantiate(&ready, graph, 0), "making a graph");
    std::vector<double> times;
    bench::gpu::mark begin;
    bench::gpu::mark end;
    for (int i = 0; i != replays; ++i) {
      meet();
      begin.set(stream);
      check(cudaGraphLaunch(ready, stream.native()), "launching a graph");
      end.set(stream);
      cuda::wait(world, stream);
      times.push_back(end.seconds_since(begin) / length);
    }
    bool const right = bench::gpu::holds(v, std::vector<float>(count, static_cast<float>(n - 1)), stream);
    static_cast<void>(cudaGraphExecDestroy(ready));
    static_cast<void>(cudaGraphDestroy(graph));
    return measurement{bench::gpu::median(times) * 1e6, right};
  });
  return slowest(results);
}

/// True if the other operations, in a graph each, give right values once.
[[nodiscard]] bool others_are_right(rank_type n) {
  constexpr std::size_t count = 100'003;
  auto const results = on_ranks(n, [&](auto& world) {
    rank_type const me = world.rank();
    rank_type const root = n - 1;
    cuda::stream const stream;
    auto const numbers = bench::gpu::random_numbers<float>(count, me + 1);
    std::size_t const block_size = tutti::block_size(count, n, me);
    cuda::array<float> const input(count);
    cuda::array<float> const full(count);
    cuda::array<float> const block(block_size);
    tutti::reduce reduce{world, tutti::ring{}, sum_of_floats{}};
    tutti::reduce_scatter scatter{world, tutti::butterfly{}, sum_of_floats{}};
    tutti::allgather gather{world, tutti::doubling{}};
    tutti::broadcast share{world, tutti::direct{}};
    std::vector<float> sum(count);
    std::vector<float> part(block_size);
    std::vector<float> full_sum(count);
    std::vector<float> root_numbers = numbers;
    reduce(numbers, sum, root);
    scatter(numbers, part);
    gather(part, full_sum);
    share(root_numbers, root);

    bool right = true;
    auto const check_capture = [&](auto const& enqueue, cuda::array<float> const& result,
                                   std::vector<float> const& expected) {
      input.copy_from(numbers, stream);
      stream.wait();
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t ready = nullptr;
      auto const check = [](cudaError_t code) {
        tutti::detail::runtime::examine(code, [] { return std::string("capturing an operation"); });
      };
      check(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeThreadLocal));
      enqueue();
      check(cudaStreamEndCapture(stream.native(), &graph));
      check(cudaGraphInstantiate(&ready, graph, 0));
      check(cudaGraphLaunch(ready, stream.native()));
      cuda::wait(world, stream);
      right = right && bench::gpu::holds(result, expected, stream);
      static_cast<void>(cudaGraphExecDestroy(ready));
      static_cast<void>(cudaGraphDestroy(graph));
    };
    bench::gpu::poison(full, stream);
    bench::gpu::poison(block, stream);
    tutti::barrier{world, tutti::doubling{}}();
    check_capture([&] { scatter.enqueue(input, block, stream); }, block, part);
    check_capture([&] { gather.enqueue(block, full, stream); }, full, full_sum);
    check_capture([&] { share.enqueue(input, root, stream); }, input, root_numbers);
    check_capture([&] { reduce.enqueue(input, full, root, stream); }, full, me == root ? sum : full_sum);
    return right;
  });
  return std::all_of(results.begin(), results.end(), [](auto const& r) { return r.value(); });
}

/// Seconds until the others know of a rank that never calls, or calls with another count; right if all name it.
[[nodiscard]] measurement failure(bool rank_1_calls) {
  auto const deadline = std::chrono::seconds(1);
  auto const results = on_ranks(
      3,
      [&](auto& world) {
        tutti::allreduce sum{world, tutti::ring{}, sum_of_floats{}};
        cuda::stream const stream;
        bool const is_odd = world.rank() == 1;
        cuda::array<float> const v(is_odd ? 1001 : 1000);
        bench::gpu::poison(v, stream);
        tutti::barrier{world, tutti::doubling{}}();
        if (is_odd && !rank_1_calls) {
          return measurement{0, true};
        }
        auto const begin_time = clock_type::now();
        sum.enqueue(v, stream);
        try {
          cuda::wait(world, stream);
          return measurement{0, false};
        } catch (tutti::error const& e) {
          bool const kind = e.kind() == (rank_1_calls ? tutti::failure::mismatch : tutti::failure::deadline);
          bool const is_named = std::string(e.what()).find("rank 1") != std::string::npos;
          return measurement{std::chrono::duration<double>(clock_type::now() - begin_time).count(), kind && is_named};
        }
      },
      deadline);
  return slowest(results);
}

/// True if there is a device. Asks in another process, as a process that has used CUDA cannot fork ranks that use it.
[[nodiscard]] bool has_device() {
  pid_t const child = fork();
  if (child == 0) {
    _exit(bench::gpu::devices() == 0 ? 1 : 0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Times of an allreduce of two processes, in place, on a device's memory and on the host's, taken in turns so that
/// both meet the same machine.
struct both_memories {
  double on_device = 0;
  double on_host = 0;
  bool right = false;
};
[[nodiscard]] both_memories staged_over_tcp(std::size_t count) {
  using staged_transport = cuda::staged_transport<tutti::tcp>;
  tutti::world_options<staged_transport> options;
  options.deadline = std::chrono::seconds(60);
  options.transport.device = 0;
  auto const results = tutti::spawn<staged_transport>(
      2,
      [count](auto& world) {
        tutti::allreduce sum{world, tutti::ring{}, sum_of_floats{}};
        tutti::barrier meet{world, tutti::doubling{}};
        cuda::stream const stream;
        auto const numbers = bench::gpu::random_numbers<float>(count, world.rank() + 1);
        std::vector<float> expected(count);
        sum(numbers, expected);
        cuda::array<float> const input(count);
        cuda::array<float> const output(count);
        input.copy_from(numbers, stream);
        bench::gpu::poison(output, stream);
        sum.enqueue(input, output, stream);
        cuda::wait(world, stream);
        bool right = bench::gpu::holds(output, expected, stream) && bench::gpu::holds(input, numbers, stream);
        sum.enqueue(input, stream);
        cuda::wait(world, stream);
        right = right && bench::gpu::holds(input, expected, stream);
        std::vector<float> host_numbers = numbers;
        bench::gpu::poison(input, stream);  // sums of poison are numbers, too
        stream.wait();
        std::vector<double> device_times;
        std::vector<double> host_times;
        auto const measure = [&](std::vector<double>& times, auto const& work) {
          meet();
          auto const begin_time = clock_type::now();
          work();
          times.push_back(std::chrono::duration<double>(clock_type::now() - begin_time).count());
        };
        for (int i = 0; i != 11; ++i) {
          measure(host_times, [&] { sum(host_numbers); });
          measure(device_times, [&] {
            sum.enqueue(input, stream);
            cuda::wait(world, stream);
          });
          std::copy(numbers.begin(), numbers.end(), host_numbers.begin());
        }
        return both_memories{bench::gpu::median(device_times), bench::gpu::median(host_times), right};
      },
      options);
  both_memories world_result{0, 0, true};
  for (auto const& result : results) {
    world_result.on_device = std::max(world_result.on_device, result.value().on_device);
    world_result.on_host = std::max(world_result.on_host, result.value().on_host);
    world_result.right = world_result.right && result.value().right;
  }
  return world_result;
}

template <class Topology>
void measure_by_steps(report& table, std::string const& name, Topology const& topology, std::size_t bytes) {
  std::size_t const count = bytes / sizeof(float);
  for (rank_type const n : {2U, 4U, 8U}) {
    measurement const result = allreduce(topology, n, count);
    table.bandwidth("allreduce by " + name + ", " + std::to_string(n) + " ranks, " + bench::gpu::size_text(bytes),
                    bytes_of_steps(topology, n, count), result.seconds, 100 / 1.3, result.right);
  }
}

void run(report& table, std::size_t bytes) {
  for (rank_type const n : {2U, 4U, 8U}) {
    measurement const result = allreduce(tutti::direct{}, n, bytes / sizeof(float));
    table.bandwidth("allreduce by direct, " + std::to_string(n) + " ranks, " + bench::gpu::size_text(bytes),
                    2.0 * n * static_cast<double>(bytes), result.seconds, 80, result.right);
  }
  measure_by_steps(table, "ring", tutti::ring{}, bytes);
  measure_by_steps(table, "butterfly", tutti::butterfly{}, bytes);
  for (rank_type const n : {2U, 8U}) {
    measurement const result = measure_graph(tutti::direct{}, n, 2 * bench::gpu::repeats_of(bytes).rounds);
    table.add("allreduce by direct, " + std::to_string(n) + " ranks, 4 KiB, in a graph of 100", result.seconds,
              n == 2 ? 10 : 15, "us", result.right);
  }
  for (rank_type const n : {2U, 3U}) {
    bool const right = others_are_right(n);
    table.add("reduce, reduce_scatter, allgather, broadcast, " + std::to_string(n) + " ranks, in graphs", 0, 0, "",
              right);
  }
  measurement const late = failure(false);
  table.add("a rank that never comes is named, deadline 1 s", late.seconds, 2, "s", late.right);
  measurement const other = failure(true);
  table.add("a rank that calls another count is named", other.seconds, 2, "s", other.right);
}

}  // namespace

int main(int count, char** words) {
  try {
    if (!has_device()) {
      std::puts("SKIPPED: no CUDA device");
      return bench::gpu::skip_status;
    }
    bench::gpu::arguments const arguments(count, words);
    both_memories const staged_times = staged_over_tcp(arguments.bytes() / sizeof(float));  // before this uses CUDA
    report table("transports", bench::gpu::copy_bandwidth(cuda::stream(), arguments.bytes()));
    run(table, arguments.bytes());
    table.add("allreduce by ring, 2 processes, staged over tcp, " + bench::gpu::size_text(arguments.bytes()),
              100 * staged_times.on_host / staged_times.on_device, 90, "%", staged_times.right);
    return table.end(arguments.file());
  } catch (std::exception const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
