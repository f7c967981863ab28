// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip one_compiler (nvcc)
//
// Operations in kernels of GPUs, with ranks that are threads: the engine's bits, order, graphs, failure.
#include <cuda/device.hpp>
#include <cuda/device_array.hpp>
#include <laws/device_cases.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/cuda/peers.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/reduction/reproducible_sum.hpp>
#include <tutti/topology/selection.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace {

namespace cuda = tutti::cuda;
namespace op = tutti::op;
using laws::complaints;
using laws::has;
using laws::require;
using tutti::rank_type;
using tutti::selection;
using enum tutti::schedule_kind;
using transport = cuda::peers<tutti::loopback>;
static_assert(tutti::notices_messages<transport>);
using namespace std::chrono_literals;

[[nodiscard]] tutti::world_options<transport> options_for(std::uint32_t groups, tutti::duration deadline = 60s) {
  tutti::world_options<transport> options;
  options.deadline = deadline;
  options.transport.groups = groups;
  return options;
}
struct amounts {
  static auto options_for(std::uint32_t groups, tutti::duration deadline = 60s) { return ::options_for(groups, deadline); }
  static std::vector<std::size_t> counts() { return {0, 1, 257, 5'001}; }
  static constexpr tutti::duration short_deadline = 1s;
  static constexpr rank_type ranks_of_a_late_one = 4;
};
using test_cases = laws::device_cases<transport, amounts>;

struct larger_and_half_the_other {
  constexpr float operator()(float a, float b) const {
    return a > b ? a + tutti::detail::product(b, 0.5F) : b + tutti::detail::product(a, 0.5F);
  }
};

void check(cudaError_t code) {
  require(code == cudaSuccess, cudaGetErrorName(code));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(on_a_device, *boost::unit_test::precondition(with_a_device<has_device>()))

support::cases const operations = test_cases::operations();
support::cases const streams = test_cases::streams();
support::cases const failing = test_cases::failing();

BOOST_AUTO_TEST_CASE(allreduce_of_elements_of_gpus) {
  test_cases::on_topologies({2, 3}, op::allreduce{}, tutti::sum<std::int8_t>{}, selection(ring));
  test_cases::on_topologies({2, 3}, op::allreduce{}, tutti::mean<tutti::bfloat16>{}, selection(ring), tutti::direct{});
  test_cases::on_topologies({2, 4}, op::allreduce{},
                            tutti::reduce_with<float>(larger_and_half_the_other{}, tutti::commutative,
                                                      tutti::function_name<"larger and half the other">),
                            tutti::direct{}, selection(ring));
}

/// An allreduce of two operations in two streams, replayed ten times by a graph, and once more outside of it.
BOOST_AUTO_TEST_CASE(a_graph_is_replayed) {
  auto const errors = complaints(
      2,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<int>{}};
        tutti::reduce_scatter scatter{world, tutti::ring{}, tutti::sum<int>{}};
        tutti::allgather gather{world, tutti::ring{}};
        cuda::stream stream;
        cuda::stream other;
        laws::device_array const v(std::vector<int>(1000, 1), stream);
        laws::device_array const block(std::vector<int>(500), stream);
        cudaEvent_t fork = nullptr;
        cudaEvent_t join = nullptr;
        check(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
        check(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
        tutti::barrier{world, tutti::ring{}}();
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t ready = nullptr;
        check(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeThreadLocal));
        scatter.enqueue(v, block, stream);
        check(cudaEventRecord(fork, stream.native()));
        check(cudaStreamWaitEvent(other.native(), fork, 0));
        gather.enqueue(block, v, other);
        check(cudaEventRecord(join, other.native()));
        check(cudaStreamWaitEvent(stream.native(), join, 0));
        check(cudaStreamEndCapture(stream.native(), &graph));
        check(cudaGraphInstantiate(&ready, graph, 0));
        for (int i = 0; i != 10; ++i) {
          check(cudaGraphLaunch(ready, stream.native()));
        }
        sum.enqueue(v, stream);
        cuda::wait(world, stream);
        auto const values = v.values(stream);
        require(values[999] == 2048, "a sum of " + std::to_string(values[999]));
        check(cudaGraphExecDestroy(ready));
        check(cudaGraphDestroy(graph));
        check(cudaEventDestroy(fork));
        check(cudaEventDestroy(join));
      },
      options_for(1));
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 2, errors[0] << errors[1]);
}

BOOST_AUTO_TEST_CASE(memory_of_the_host_is_refused) {
  auto const errors = complaints(
      1,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        cuda::stream stream;
        std::vector<float> host_values(100);
        sum.enqueue(tutti::device_span<float>(host_values.data(), host_values.size()), stream);
      },
      options_for(1));
  BOOST_TEST(has(errors[0], "is not in memory of this rank's device, 0000:"), errors[0]);
}

BOOST_AUTO_TEST_CASE(a_stream_that_waits_for_the_default_one_is_refused) {
  auto const errors = complaints(
      2,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        cudaStream_t native_stream = nullptr;
        check(cudaStreamCreateWithFlags(&native_stream, cudaStreamDefault));
        cuda::stream const stream(native_stream);
        laws::device_array const v(std::vector<float>(100), stream);
        sum.enqueue(v, stream);
        cuda::wait(world, stream);
      },
      [] {
        auto options = options_for(1);
        options.transport.device = 0;
        return options;
      }());
  for (std::string const& text : errors) {
    BOOST_TEST(has(text, "this stream waits for the default stream of CUDA"), text);
  }
}

BOOST_AUTO_TEST_CASE(more_groups_than_run_at_a_time) {
  auto options = options_for(10'000);
  auto const errors = complaints(
      2, [](auto&) {}, options);
  for (std::string const& text : errors) {
    BOOST_TEST(has(text, "groups at the same time, but its "), text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
