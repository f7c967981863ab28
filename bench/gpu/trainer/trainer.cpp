// SPDX-License-Identifier: Apache-2.0
//
// Checks that a model learns on GPUs as on the CPU, and measures its speed. LeNet-5 on MNIST, by one and two ranks on
// a GPU and by one beside one on the CPU; ResNet-20 on 10,000 images of CIFAR-10; images a second of ResNet-20 and
// VGG-16 against PyTorch. The test nn_cuda_math compares each layer with the CPU's. Built and run by bench/gpu/run.
// `trainer <file for JSON> <folder with mnist and cifar-10, or -> <output of pytorch.py, or ->`
#include "measure.hpp"
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/cuda/replica.hpp>
#include <tutti/nn/data/read_folder.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/lenet5.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/nn/zoo/vgg.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace nn = tutti::nn;
using bench::gpu::report;
using tutti::rank_type;

using layers = nn::layer_list<float>;

/// A training to run.
struct task {
  std::function<layers()> model;
  nn::data_pair const& data;
  nn::settings settings;
};
/// Results of a training.
struct training_result {
  nn::history history;
  bool equal = true;  ///< true if all ranks have the same weights

  [[nodiscard]] double percent() const { return 100 * history.epochs.back().test_accuracy; }
};

/// Trains with ranks from `hosts` on on the GPU, the others on the CPU.
[[nodiscard]] training_result train(task const& training, rank_type size, rank_type hosts, nn::precision numbers) {
  struct rank_result {
    nn::history history;
    std::vector<float> weights;
  };
  auto results = tutti::spawn<tutti::loopback>(size, [&](auto& world) {
    nn::set_threads(world.rank() < hosts ? static_cast<int>(std::thread::hardware_concurrency()) : 1);
    nn::synchronous ranks(world, tutti::ring{});
    auto const run = [&](auto&& replica) {
      rank_result result;
      nn::train(replica, ranks, result.history);
      auto const weights = std::as_const(replica).parameters();
      result.weights.assign(weights.begin(), weights.end());
      return result;
    };
    if (world.rank() < hosts) {
      return run(nn::replica(nn::model<float>(training.model(), nn::replica::extra_scalars), training.data.training,
                             training.data.test, training.settings, world.rank(), world.size()));
    }
    return run(nn::cuda::replica(nn::device_model{training.model(), numbers, 0}, training.data.training,
                                 training.data.test, training.settings, world.rank(), world.size()));
  });
  training_result world_result{std::move(results[0].value().history)};
  for (auto const& result : results) {
    auto const& weights = result.value().weights;
    world_result.equal = world_result.equal && std::memcmp(weights.data(), results[0].value().weights.data(),
                                                           weights.size() * sizeof(float)) == 0;
  }
  return world_result;
}

void keep_first(nn::dataset& set, std::size_t count) {
  if (set.size() > count) {
    set.pixels.resize(count * set.features());
    set.labels.resize(count);
  }
}

/// Measures, in points of accuracy, the distance of the GPU from the CPU.
void compare(report& table, std::string const& name, task const& training, double points,
             std::vector<std::pair<rank_type, rank_type>> const& worlds) {
  double const host = train(training, 1, 1, nn::precision::float32).percent();
  std::printf("%s on the CPU: %.2f %%\n", name.c_str(), host);
  for (auto const& [size, hosts] : worlds) {
    training_result const result = train(training, size, hosts, nn::precision::float32);
    std::string const ranks = std::to_string(size - hosts) + (size - hosts == 1 ? " GPU rank" : " GPU ranks") +
                              (hosts == 0 ? "" : " and " + std::to_string(hosts) + " on the CPU");
    table.add(name + ", " + ranks + ": off the CPU's accuracy", std::abs(result.percent() - host), points, "points",
              result.equal && std::isfinite(result.history.epochs.back().test_loss));
  }
}

/// Images of noise: only time is measured.
[[nodiscard]] nn::data_pair noise() {
  constexpr std::size_t steps = 100;
  auto const make = [](std::size_t count, std::uint64_t seed) {
    nn::dataset set{{3, 32, 32}, 10, std::vector<std::uint8_t>(count * 3072), std::vector<std::uint8_t>(count)};
    nn::random_sequence random(seed);
    for (auto& x : set.pixels) {
      x = static_cast<std::uint8_t>(random.draw_below(256));
    }
    for (auto& x : set.labels) {
      x = static_cast<std::uint8_t>(random.draw_below(10));
    }
    return set;
  };
  return {make(steps * 128, 1), make(128, 2)};
}

/// Images a second by PyTorch for each model and precision, from lines such as `resnet20 float 12345.6`.
[[nodiscard]] std::map<std::string, double> read_pytorch_speeds(char const* file) {
  std::map<std::string, double> speeds;
  std::ifstream lines(file);
  std::string model;
  std::string numbers;
  double images = 0;
  while (lines >> model >> numbers >> images) {
    speeds[model + " " + numbers] = images;
  }
  return all;
}

void race(report& table, char const* file) {
  auto const torch = read_pytorch_speeds(file);
  nn::data_pair const data = noise();
  nn::settings settings;
  settings.epochs = 3;
  settings.rate = settings.last_rate = 0.001F;
  settings.prefetch = true;
  for (std::string const name : {"resnet20", "vgg16"}) {
    task const training{[&] {
                          return name == "vgg16" ? nn::vgg<float>(16, data.training.shape, 10)
                                                 : nn::small_resnet<float>(20, data.training.shape, 10);
                        },
                        data, settings};
    for (nn::precision const p : {nn::precision::float32, nn::precision::bfloat16}) {
      training_result const result = train(training, 1, 0, p);
      double const images = result.history.epochs.back().images_per_second();
      std::string const key = name + " " + std::string(nn::name(p));
      bool const right = std::isfinite(result.history.epochs.back().training_loss);
      std::printf("%s: %.0f images/s\n", key.c_str(), images);
      if (auto const baseline = torch.find(key); baseline != torch.end()) {
        table.add(key + ", images/s in percent of PyTorch's " + std::to_string(static_cast<long>(baseline->second)),
                  100 * images / baseline->second, 100, "%", right);
      } else {
        std::printf("left out: %s against PyTorch, which was not found\n", key.c_str());
      }
    }
  }
}

void learn(report& table, std::filesystem::path const& folder) {
  if (std::filesystem::exists(folder / "mnist")) {
    nn::data_pair const data = nn::read_folder(folder / "mnist");
    nn::settings settings;
    settings.rate = 0.05F;
    compare(table, "LeNet-5 on MNIST", {[&] { return nn::lenet5<float>(data.training.shape, 10); }, data, settings},
            0.3, {{1, 0}, {2, 0}, {2, 1}});
  } else {
    std::printf("left out: LeNet-5; there is no %s\n", (folder / "mnist").c_str());
  }
  if (std::filesystem::exists(folder / "cifar-10")) {
    nn::data_pair data = nn::read_folder(folder / "cifar-10");
    keep_first(data.training, 10'000);
    nn::settings settings;
    settings.epochs = 10;
    compare(table, "ResNet-20 on CIFAR-10",
            {[&] { return nn::small_resnet<float>(20, data.training.shape, 10); }, data, settings}, 1.5, {{1, 0}});
  } else {
    std::printf("left out: ResNet-20; there is no %s\n", (folder / "cifar-10").c_str());
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: trainer <file for JSON> <folder of data, or -> <what PyTorch did, or ->\n");
    return 2;
  }
  try {
    if (bench::gpu::devices() == 0) {
      std::puts("SKIPPED: no CUDA device");
      return bench::gpu::skip_status;
    }
    report table("trainer", bench::gpu::copy_bandwidth(bench::gpu::cuda::stream(), bench::gpu::long_vector));
    race(table, words[3]);
    learn(table, words[2]);
    return table.end(words[1]);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
