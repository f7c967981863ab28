// SPDX-License-Identifier: Apache-2.0
//
// The program for compute-sanitizer, which runs one kernel at a time, while kernels of several ranks wait for each
// other. So one rank runs every operation by its steps, and kernels that combine many inputs. Built and run by
// bench/gpu/run, alone and under the tool. Status 1: a value is wrong.
#include "measure.hpp"
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/collective/reduce_scatter.hpp>
#include <tutti/cuda/detail/device/fused.hpp>
#include <tutti/cuda/peers.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reproducible_sum.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <exception>
#include <string>

namespace {

namespace cuda = tutti::cuda;
namespace device = tutti::detail::device;
constexpr std::size_t count = 10'007;

/// Combines eight inputs, like the kernels of ranks.
template <class R>
__global__ void combine(R reduction, float const* input, float* output) {
  tutti::detail::runtime::block const threads(UINT64_MAX);
  device::for_each_element(threads, device::fold_of_all<R, 8>{reduction}, count, device::places<float>{{output}}, input,
                           input + count, input + 2 * count, input + 3 * count, input + 4 * count, input + 5 * count,
                           input + 6 * count, input + 7 * count);
}
[[nodiscard]] bool combining_is_right(cuda::stream const& stream) {
  auto const host_input = bench::gpu::random_numbers<float>(8 * count, 1);
  std::vector<float> expected(count);
  for (std::size_t i = 0; i != count; ++i) {
    device::fold_of_all<tutti::sum<float>, 8> const fold{{}};
    expected[i] = fold(host_input[i], host_input[i + count], host_input[i + 2 * count], host_input[i + 3 * count],
                       host_input[i + 4 * count], host_input[i + 5 * count], host_input[i + 6 * count],
                       host_input[i + 7 * count]);
  }
  cuda::array<float> const input(8 * count);
  cuda::array<float> const output(count);
  input.copy_from(host_input, stream);
  bench::gpu::poison(output, stream);
  combine<<<1, 512, 0, stream.native()>>>(tutti::sum<float>{}, input.data(), output.data());
  tutti::detail::runtime::examine(cudaGetLastError(), [] { return std::string("launching a kernel that combines"); });
  return bench::gpu::holds(output, expected, stream);
}

/// True if all operations of one rank return their input.
[[nodiscard]] bool operations_are_right() {
  auto const results = tutti::spawn<cuda::peers<tutti::loopback>>(1, [](auto& world) {
    cuda::stream const stream;
    auto const numbers = bench::gpu::random_numbers<float>(count, 2);
    cuda::array<float> const input(count);
    cuda::array<float> const output(count);
    input.copy_from(numbers, stream);
    bool right = true;
    auto const gives_it_back = [&](auto const& enqueue) {
      bench::gpu::poison(output, stream);
      enqueue();
      cuda::wait(world, stream);
      right = right && bench::gpu::holds(output, numbers, stream);
    };
    tutti::allreduce by_direct{world, tutti::direct{}, tutti::sum<float>{}};
    tutti::allreduce by_ring{world, tutti::ring{}, tutti::reproducible_sum<float>{}};
    tutti::reduce reduce{world, tutti::ring{}, tutti::sum<float>{}};
    tutti::reduce_scatter scatter{world, tutti::ring{}, tutti::sum<float>{}};
    tutti::allgather gather{world, tutti::doubling{}};
    tutti::broadcast share{world, tutti::direct{}};
    gives_it_back([&] { by_direct.enqueue(input, output, stream); });
    gives_it_back([&] { by_ring.enqueue(input, output, stream); });
    gives_it_back([&] { reduce.enqueue(input, output, 0, stream); });
    gives_it_back([&] { scatter.enqueue(input, output, stream); });
    gives_it_back([&] { gather.enqueue(input, output, stream); });
    share.enqueue(input, 0, stream);
    cuda::wait(world, stream);
    return right && bench::gpu::holds(input, numbers, stream);
  });
  return results[0].value();
}

}  // namespace

int main() {
  try {
    if (bench::gpu::devices() == 0) {
      std::puts("SKIPPED: no CUDA device");
      return bench::gpu::skip_status;
    }
    bool const right = combining_is_right(cuda::stream()) && operations_are_right();
    std::printf("one rank, every operation, and 8 inputs combined: %s\n", right ? "right" : "WRONG");
    return right ? 0 : 1;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
