// SPDX-License-Identifier: Apache-2.0
//
// What does a training gain from more workers, with a parameter server and with an allreduce? Images per second of
// models whose gradients have the true sizes, on a network of your choice, in virtual time; see docs/simulation.md.
//
//   strategies [rate=10G] [latency=20000] [overhead=5000] [combine=100] [segment=1048576] [workers=1,2,4,8,16,32]
//              [svg=FILE]
//
// The rate in bits a second such as 2.5G or 200M, times in ns, combine in ps a byte; FILE gets a picture of the
// server's and the ring's. Workers compute, then exchange: nothing is hidden behind computing. The server (star) is a
// host of its own, with the same link as the others and as much time to add up.
#include "common/known_settings.hpp"
#include <tutti/nn/detail/report/plot_panel.hpp>
#include <tutti/nn/gradient_sizes.hpp>
#include <tutti/nn/zoo/alexnet.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/nn/zoo/vgg.hpp>
#include <tutti/simulate_schedule.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

bench::settings settings("rate=10G latency=20000 overhead=5000 combine=100 segment=1048576 workers=1,2,4,8,16,32 svg=");

std::int64_t number(char const* name) {
  return static_cast<std::int64_t>(bench::whole(name, settings.text(name, "")));
}

tutti::picoseconds per_byte() {
  return tutti::at_gigabits(bench::bits_per_second("rate", settings.text("rate", "")) * 1e-9);
}

/// The rate that is computed with, in whole picoseconds a byte: "2.5 Gbit/s".
std::string rate_in_words() {
  char text[48];
  std::snprintf(text, sizeof text, "%g Gbit/s", 8000 / static_cast<double>(per_byte().count()));
  return text;
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

/// Seconds that an allreduce of this many floats takes.
template <class Topology>
double exchange(Topology topology, tutti::rank_type ranks, std::size_t numbers) {
  if (ranks == 1) {
    return 0;
  }
  tutti::loggp const nic{std::chrono::nanoseconds(number("latency")), std::chrono::nanoseconds(number("overhead")),
                         std::chrono::nanoseconds(0), per_byte()};
  auto net = tutti::one_switch(ranks, nic);
  net.combine = tutti::picoseconds(number("combine"));
  auto const report = tutti::simulate_schedule(net, topology, tutti::op::allreduce{}, ranks,
                                               {numbers, sizeof(float), static_cast<std::size_t>(number("segment"))});
  return static_cast<double>(report.time().count()) * 1e-12;
}

/// Prints a line of the table. @returns images per second over workers
template <class Topology>
std::vector<tutti::nn::detail::plot_point> row(Topology topology, char const* how, workload const& work,
                                               bool has_server) {
  std::vector<tutti::nn::detail::plot_point> points;
  std::printf("%-11s %-10s", work.name, how);
  for (std::size_t const one : bench::wholes("workers", settings.text("workers", ""), 1)) {
    auto const workers = static_cast<tutti::rank_type>(one);
    bool const served = has_server && workers > 1;
    double const seconds =
        work.batch / work.images_per_second + exchange(topology, workers + (served ? 1U : 0U), work.parameters);
    points.push_back({static_cast<double>(workers), workers * work.batch / seconds});
    std::printf(" %9.0f", points.back().y);
    std::fflush(stdout);
  }
  std::printf("\n");
  return points;
}

/// Panel number i of two columns: what the server's and the ring's workers do, and what as many would do if they had
/// nothing to exchange.
tutti::nn::detail::plot_panel panel(std::size_t i, workload const& work,
                                    std::vector<tutti::nn::detail::plot_point> server,
                                    std::vector<tutti::nn::detail::plot_point> ring) {
  namespace nn = tutti::nn;
  double const most = ring.back().x;
  std::vector<double> ticks;
  double high = 0;
  for (auto const& curve : {server, ring}) {
    for (auto const& one : curve) {
      high = std::max(high, one.y);
    }
  }
  for (auto const& one : ring) {
    ticks.push_back(one.x);
  }
  auto const row = static_cast<double>(i / 2);
  nn::detail::plot_panel result(
      work.name, {70 + 430 * static_cast<double>(i % 2), 70 + 220 * row, 340, 160},
      {.right = most, .low = 0, .high = 1.08 * high, .x_labels = "%g", .x_ticks = std::move(ticks)});
  return result.add({"ideal", "#a0a0a0", {{0, 0}, {most, most * work.images_per_second}}, false, true})
      .add({"server", "#c0392b", std::move(server), true})
      .add({"ring", "#2f6fb3", std::move(ring), true});
}

void write(std::string const& path, std::vector<tutti::nn::detail::plot_panel> const& panels) {
  std::ofstream file(path, std::ios::binary);
  file << tutti::nn::detail::svg_picture(900, 730, "images per second over workers, " + rate_in_words(), "", panels);
  file.close();
  if (!file) {
    throw std::runtime_error("cannot write " + path);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (!bench::read_known(argc, argv, settings)) {
    return 2;
  }
  std::printf("images/s at %s, workers: %s\n", rate_in_words().c_str(), settings.text("workers", "").c_str());
  std::vector<tutti::nn::detail::plot_panel> panels;
  for (workload const& work : workloads()) {
    auto server = row(tutti::star{}, "server", work, true);
    auto ring = row(tutti::ring{}, "ring", work, false);
    panels.push_back(panel(panels.size(), work, std::move(server), std::move(ring)));
    (void)row(tutti::butterfly{}, "butterfly", work, false);
  }
  if (auto const path = settings.text("svg", ""); !path.empty()) {
    write(path, panels);
  }
} catch (std::exception const& e) {
  std::fprintf(stderr, "strategies: %s\n", e.what());
  return 1;
}
