// SPDX-License-Identifier: Apache-2.0
//
// The part of the test with kernels, for nvcc.
#include <nn/cuda/sums_on_gpus.hpp>
#include <tutti/cuda/peers.hpp>
#include <tutti/nn/cuda/device_sums.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <chrono>

void on_gpus(tutti::rank_type size, std::function<void(sums_on_gpus&)> const& rank) {
  using transport = tutti::cuda::peers<tutti::loopback>;
  tutti::world_options<transport> options;
  options.deadline = std::chrono::seconds(60);
  for (auto const& result : tutti::spawn<transport>(
           size,
           [&](auto& world) {
             tutti::nn::device_sums sums(world, tutti::ring{});
             rank(sums);
             return 0;
           },
           options)) {
    static_cast<void>(result.value());
  }
}
