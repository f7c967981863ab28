// SPDX-License-Identifier: Apache-2.0
//
// Two ranks sum vectors in GPU memory, in a stream: one kernel each. Build it by nvcc, or with tutti::cuda:
//
//     nvcc -std=c++20 --expt-relaxed-constexpr -arch=native -Iinclude examples/gpu.cu -o gpu && ./gpu
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/cuda/array.hpp>
#include <tutti/cuda/peers.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <cstdio>
#include <exception>
#include <vector>

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: no CUDA device");
    return 77;
  }
  auto const rank = [](auto& world) {  // ranks take the devices in turns
    tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
    tutti::cuda::stream const stream;
    tutti::cuda::array<float> const gradients(1000);
    std::vector<float> host(gradients.size(), static_cast<float>(world.rank() + 1));

    gradients.copy_from(host, stream);
    tutti::barrier{world, tutti::ring{}}();  // CUDA may wait for operations under way where memory is allocated
    sum.enqueue(gradients, stream);
    gradients.copy_to(host, stream);
    tutti::cuda::wait(world, stream);
    return host[0];
  };
  try {
    for (auto const& result : tutti::spawn<tutti::cuda::peers<tutti::loopback>>(2, rank)) {
      std::printf("the sum is %g\n", result.value());  // 3
    }
  } catch (std::exception const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
