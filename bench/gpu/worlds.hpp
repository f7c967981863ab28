// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure.hpp"
#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/transport/loopback.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

/// Common parts of the programs about operations of several ranks.
namespace bench::gpu {

using sum_of_floats = tutti::sum<float>;

/// Results of one rank.
struct measurement {
  double seconds = 0;
  bool right = false;
  double nccl_seconds = 0;  ///< seconds by NCCL; 0: not measured
};
/// The slowest rank's time; right if all ranks are.
template <class Results>
[[nodiscard]] measurement slowest(Results const& results) {
  measurement world_result{0, true};
  for (auto const& result : results) {
    measurement const rank_measurement = result.value();
    world_result.seconds = std::max(world_result.seconds, rank_measurement.seconds);
    world_result.nccl_seconds = std::max(world_result.nccl_seconds, rank_measurement.nccl_seconds);
    world_result.right = world_result.right && rank_measurement.right;
  }
  return world_result;
}

/// The result on rank 0 of an allreduce on host memory; all ranks get the same.
template <class Topology>
[[nodiscard]] std::vector<float> on_host(Topology const& topology, tutti::rank_type n, std::size_t count) {
  auto const results = tutti::spawn<tutti::loopback>(n, [&](auto& world) {
    auto v = random_numbers<float>(count, world.rank() + 1);
    tutti::allreduce{world, topology, sum_of_floats{}}(v);
    return world.rank() == 0 ? v : std::vector<float>();
  });
  return results[0].value();
}

}  // namespace bench::gpu
