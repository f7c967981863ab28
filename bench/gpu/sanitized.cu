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
__global__ void combine(R how, float const* in, float* out) {
  tutti::detail::runtime::block const threads(UINT64_MAX);
  device::for_each_element(threads, device::fold_of_all<R, 8>{how}, count, device::places<float>{{out}}, in, in + count,
                           in + 2 * count, in + 3 * count, in + 4 * count, in + 5 * count, in + 6 * count,
                           in + 7 * count);
}
[[nodiscard]] bool combining_is_right(cuda::stream const& stream) {
  auto const in = bench::gpu::drawn<float>(8 * count, 1);
  std::vector<float> wanted(count);
  for (std::size_t i = 0; i != count; ++i) {
    device::fold_of_all<tutti::sum<float>, 8> const fold{{}};
    wanted[i] = fold(in[i], in[i + count], in[i + 2 * count], in[i + 3 * count], in[i + 4 * count], in[i + 5 * count],
                     in[i + 6 * count], in[i + 7 * count]);
  }
  cuda::array<float> const from(8 * count);
  cuda::array<float> const to(count);
  from.copy_from(in, stream);
  bench::gpu::poison(to, stream);
  combine<<<1, 512, 0, stream.native()>>>(tutti::sum<float>{}, from.data(), to.data());
  tutti::detail::runtime::examine(cudaGetLastError(), [] { return std::string("launching a kernel that combines"); });
  return bench::gpu::holds(to, wanted, stream);
}

/// True if all operations of one rank return their input.
[[nodiscard]] bool operations_are_right() {
  auto const results = tutti::spawn<cuda::peers<tutti::loopback>>(1, [](auto& world) {
    cuda::stream const stream;
    auto const mine = bench::gpu::drawn<float>(count, 2);
    cuda::array<float> const in(count);
    cuda::array<float> const out(count);
    in.copy_from(mine, stream);
    bool right = true;
    auto const gives_it_back = [&](auto const& put) {
      bench::gpu::poison(out, stream);
      put();
      cuda::wait(world, stream);
      right = right && bench::gpu::holds(out, mine, stream);
    };
    tutti::allreduce by_direct{world, tutti::direct{}, tutti::sum<float>{}};
    tutti::allreduce by_ring{world, tutti::ring{}, tutti::reproducible_sum<float>{}};
    tutti::reduce reduce{world, tutti::ring{}, tutti::sum<float>{}};
    tutti::reduce_scatter scatter{world, tutti::ring{}, tutti::sum<float>{}};
    tutti::allgather gather{world, tutti::doubling{}};
    tutti::broadcast share{world, tutti::direct{}};
    gives_it_back([&] { by_direct.enqueue(in, out, stream); });
    gives_it_back([&] { by_ring.enqueue(in, out, stream); });
    gives_it_back([&] { reduce.enqueue(in, out, 0, stream); });
    gives_it_back([&] { scatter.enqueue(in, out, stream); });
    gives_it_back([&] { gather.enqueue(in, out, stream); });
    share.enqueue(in, 0, stream);
    cuda::wait(world, stream);
    return right && bench::gpu::holds(in, mine, stream);
  });
  return results[0].value();
}

}  // namespace

int main() {
  try {
    if (bench::gpu::devices() == 0) {
      std::puts("SKIPPED: no CUDA device");
      return bench::gpu::skipped;
    }
    bool const right = combining_is_right(cuda::stream()) && operations_are_right();
    std::printf("one rank, every operation, and 8 inputs combined: %s\n", right ? "right" : "WRONG");
    return right ? 0 : 1;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
