// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip one_compiler (it has read the strategy over a model)
//
// Gradient buffers are summed on the GPUs that compute them, with the bits of sums on the host.
#include <nn/cuda/sums_on_gpus.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/cuda/device_synchronous.hpp>
#include <tutti/nn/cuda/replica.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

namespace {

namespace nn = tutti::nn;
using replica = nn::cuda::replica;
using weights = std::vector<float>;

[[nodiscard]] int devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

[[nodiscard]] nn::data_pair const& images() {
  static nn::data_pair const data{nn::digits(320, 1), nn::digits(100, 1, 1000)};
  return data;
}

/// A replica on the GPU that `cuda::peers` assigns to the rank.
[[nodiscard]] replica make_replica(tutti::rank_type rank, tutti::rank_type size) {
  nn::set_threads(1);
  nn::settings settings;
  settings.epochs = 2;
  settings.batch = 32;
  settings.rate = 0.05F;
  nn::layer_list<float> layers{nn::dense<float>(784, 64), nn::batch_norm<float, nn::relu>({64, 1, 1}),
                               nn::dense<float>(64, 10)};
  return {nn::device_model{std::move(layers), nn::precision::float32, static_cast<int>(rank) % devices()},
          images().training,
          images().test,
          settings,
          rank,
          size};
}

[[nodiscard]] weights weights_of(replica const& replica_of_rank) {
  return {replica_of_rank.parameters().begin(), replica_of_rank.parameters().end()};
}

/// The weights of all ranks.
[[nodiscard]] std::vector<weights> trained_on_gpus(tutti::rank_type size, std::size_t bucket) {
  std::vector<weights> weights_by_rank(size);
  on_gpus(size, [&](sums_on_gpus& sums) {
    auto replica_of_rank = make_replica(sums.rank(), size);
    {
      // A first training loads all kernels: CUDA loads on first use, and may then wait for running sums on the same
      // GPU.
      auto warm_up_replica = make_replica(sums.rank(), size);
      nn::local_only strategy_without_ranks;
      nn::train(warm_up_replica, strategy_without_ranks);
    }
    std::array<float, 1> round{};
    sums.sum(round);
    nn::device_synchronous strategy(sums, bucket);
    nn::train(replica_of_rank, strategy);
    weights_by_rank[sums.rank()] = weights_of(replica_of_rank);
  });
  return weights_by_rank;
}

[[nodiscard]] std::vector<weights> trained_by_hosts_sums(tutti::rank_type size) {
  std::vector<weights> weights_by_rank;
  for (auto& result : tutti::spawn<tutti::loopback>(size, [&](auto& world) {
         auto replica_of_rank = make_replica(world.rank(), size);
         nn::synchronous strategy(world, tutti::ring{});
         nn::train(replica_of_rank, strategy);
         return weights_of(replica_of_rank);
       })) {
    weights_by_rank.push_back(std::move(result.value()));
  }
  return weights_by_rank;
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_on_gpus_have_the_bits_of_those_on_hosts) {
  if (devices() == 0) {
    std::puts("SKIPPED: no CUDA device");
    return;
  }
  for (tutti::rank_type const size : {1U, 2U, 3U}) {
    BOOST_TEST((trained_on_gpus(size, 0) == trained_by_hosts_sums(size)), size << " ranks");
  }
  auto const right = trained_by_hosts_sums(2);
  for (std::size_t const bucket : {std::size_t{1024}, std::size_t{65536}}) {
    BOOST_TEST((trained_on_gpus(2, bucket) == right), "buckets of " << bucket << " bytes");
  }
}
