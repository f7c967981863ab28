// SPDX-License-Identifier: Apache-2.0
//
// What does a training gain from more workers, with a parameter server and with an allreduce? Images per second of
// models whose gradients have the true sizes, on a network of your choice, in virtual time; see docs/simulation.md.
//
//   strategies [gigabits=10] [latency=20000] [overhead=5000] [combine=100] [segment=1048576] [workers=1,2,4,8,16,32]
//
// Times in ns, combine in ps a byte. Workers compute, then exchange: nothing is hidden behind computing. The server
// (star) is a host of its own, with the same link as the others and as much time to add up.
#include "common/known_settings.hpp"
#include <tutti/nn/gradient_sizes.hpp>
#include <tutti/nn/zoo/alexnet.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/nn/zoo/vgg.hpp>
#include <tutti/simulate_schedule.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

#include <chrono>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::map<std::string, std::string> settings{{"gigabits", "10"}, {"latency", "20000"},   {"overhead", "5000"},
                                            {"combine", "100"}, {"segment", "1048576"}, {"workers", "1,2,4,8,16,32"}};

std::int64_t number(char const* name) {
  return std::stoll(settings.at(name));
}

/// A model and how fast one worker alone trains it.
struct workload {
  char const* name;
  std::size_t parameters;
  double batch;
  double images_per_second;
};

/// One NVIDIA P100, single precision, synthetic data: the TensorFlow project's page "Benchmarks", 2017. It has no
/// VGG-19, which is taken to be slower than VGG-16 as it has more operations: 19.6 to 15.5 thousand million.
std::vector<workload> workloads() {
  using namespace tutti::nn;
  constexpr image_shape image{3, 224, 224};
  return {{"AlexNet", count_parameters(alexnet<float>(image, 1000)), 512, 2987},
          {"VGG-16", count_parameters(vgg<float>(16, image, 1000)), 64, 154},
          {"VGG-19", count_parameters(vgg<float>(19, image, 1000)), 64, 154 * 15.5 / 19.6},
          {"ResNet-50", count_parameters(resnet<float>(50, image, 1000)), 64, 219},
          {"ResNet-152", count_parameters(resnet<float>(152, image, 1000)), 64, 91.8}};
}

/// Seconds that an allreduce of so many floats takes.
template <class Topology>
double exchange(Topology topology, tutti::rank_type ranks, std::size_t numbers) {
  if (ranks == 1) {
    return 0;
  }
  tutti::loggp const nic{std::chrono::nanoseconds(number("latency")), std::chrono::nanoseconds(number("overhead")),
                         std::chrono::nanoseconds(0), tutti::at_gigabits(number("gigabits"))};
  auto net = tutti::one_switch(ranks, nic);
  net.combine = tutti::picoseconds(number("combine"));
  auto const report = tutti::simulate_schedule(net, topology, tutti::op::allreduce{}, ranks,
                                               {numbers, sizeof(float), static_cast<std::size_t>(number("segment"))});
  return static_cast<double>(report.time().count()) * 1e-12;
}

template <class Topology>
void row(Topology topology, char const* how, workload const& work, bool has_server) {
  std::printf("%-11s %-10s", work.name, how);
  std::istringstream in(settings.at("workers"));
  for (std::string one; std::getline(in, one, ',');) {
    auto const workers = static_cast<tutti::rank_type>(std::stoul(one));
    bool const served = has_server && workers > 1;
    double const seconds =
        work.batch / work.images_per_second + exchange(topology, workers + (served ? 1U : 0U), work.parameters);
    std::printf(" %9.0f", workers * work.batch / seconds);
    std::fflush(stdout);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) try {
  if (!bench::read_known(argc, argv, settings)) {
    return 2;
  }
  std::printf("images/s at %s Gbit/s, workers: %s\n", settings.at("gigabits").c_str(), settings.at("workers").c_str());
  for (workload const& work : workloads()) {
    row(tutti::star{}, "server", work, true);
    row(tutti::ring{}, "ring", work, false);
    row(tutti::butterfly{}, "butterfly", work, false);
  }
} catch (std::exception const& e) {
  std::fprintf(stderr, "strategies: %s\n", e.what());
  return 1;
}
