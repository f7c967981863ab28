// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip one_compiler (it has read the replicas of a model)
//
// Replicas on a GPU learn like the CPU's, alone and beside one on the CPU.
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/cuda/replica.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/lenet5.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace {

namespace nn = tutti::nn;

[[nodiscard]] int devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

[[nodiscard]] nn::settings short_training() {
  nn::settings settings;
  settings.epochs = 2;
  settings.batch = 32;
  settings.rate = 0.05F;
  return settings;
}

/// The weights of all ranks. Ranks from `first_on_device` on are on the device.
[[nodiscard]] std::vector<std::vector<float>> train(tutti::rank_type size, tutti::rank_type first_on_device,
                                                    nn::precision numbers) {
  nn::data_pair const data{nn::digits(320, 1), nn::digits(100, 1, 1000)};
  std::vector<std::vector<float>> weights_by_rank;
  for (auto& result : tutti::spawn<tutti::loopback>(size, [&](auto& world) {
         nn::set_threads(1);
         nn::synchronous ranks(world, tutti::ring{});
         auto const run = [&](auto&& replica) {
           nn::train(replica, ranks);
           auto const weights = std::as_const(replica).parameters();
           return std::vector<float>(weights.begin(), weights.end());
         };
         auto layers = nn::lenet5<float>(data.training.shape, data.training.classes);
         auto const settings = short_training();
         if (world.rank() >= first_on_device) {
           return run(nn::cuda::replica(nn::device_model{std::move(layers), numbers, 0}, data.training, data.test,
                                        settings, world.rank(), world.size()));
         }
         return run(nn::replica(nn::model<float>(std::move(layers), nn::replica::extra_scalars), data.training,
                                data.test, settings, world.rank(), world.size()));
       })) {
    weights_by_rank.push_back(std::move(result.value()));
  }
  return weights_by_rank;
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_device_it_says_so) {
  if (devices() == 0) {
    nn::data_pair const data{nn::digits(32, 1), nn::digits(32, 2)};
    BOOST_CHECK_THROW(nn::cuda::replica(nn::device_model{nn::lenet5<float>(data.training.shape, 10)}, data.training,
                                        data.test, short_training(), 0, 1),
                      tutti::cuda::error);
  }
}

BOOST_AUTO_TEST_CASE(it_learns_what_the_cpu_learns) {
  if (devices() == 0) {
    std::puts("SKIPPED: no CUDA device");
    return;
  }
  auto const host = train(1, 1, nn::precision::float32)[0];
  auto const check_distance = [&](std::vector<float> const& other, double max_error) {
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i != host.size(); ++i) {
      difference += (double{other[i]} - double{host[i]}) * (double{other[i]} - double{host[i]});
      size += double{host[i]} * double{host[i]};
    }
    BOOST_TEST(difference <= max_error * max_error * size);
  };
  for (auto const& [size, first] : {std::pair<tutti::rank_type, tutti::rank_type>{1, 0}, {2, 0}, {2, 1}}) {
    auto const weights_by_rank = train(size, first, nn::precision::float32);
    check_distance(weights_by_rank[0], 1e-2);
    BOOST_TEST(std::memcmp(weights_by_rank.front().data(), weights_by_rank.back().data(),
                           weights_by_rank[0].size() * sizeof(float)) == 0);
    BOOST_TEST(train(size, first, nn::precision::float32) == weights_by_rank);  // a second run gives the same bits
  }
  check_distance(train(1, 0, nn::precision::bfloat16)[0], 0.1);
  check_distance(train(1, 0, nn::precision::float16)[0], 0.1);
}
