// SPDX-License-Identifier: Apache-2.0
//
// Simulates the gain from more workers, with a parameter server and with an allreduce: images per second of models
// with gradients of real size, on a network of your choice, in virtual time; see docs/guide/simulation.md.
//
//   strategies [rate=10G] [server_rate=RATE] [latency=20000] [overhead=5000] [combine=100] [segment=1048576]
//              [workers=1,2,4,8,16,32] [ranks_per_host=1] [servers=1] [how=server,ring,butterfly] [models=NAMES]
//              [side=224] [batch=N] [images=N] [hide=nothing|ready|after|forward] [piece=0] [format=table|csv]
//              [svg=FILE]
//
// Rates in bits a second such as 2.5G or 200M, times in ns, combine in ps a byte. server_rate: the servers' links;
// default: as the others. batch and images: one worker's batch, and its images a second alone; default: a P100's.
// side: of the images. how: server (star), multicast (a server whose sums leave it once), in_network (the switch
// sums), ring, butterfly. svg gets a picture of the server and the ring.
//
// hide=nothing: workers compute, then exchange, in segments. Otherwise a layer's gradients leave as soon as backward
// has them. A server hands out each sum when it is ready; after it has all; or then in the order of forward, which
// continues with the sums that have arrived. piece: largest number of bytes summed as one. Servers are hosts of their
// own and sum as fast as the others; messages between the ranks of a host take no time.
#include "../common/known_settings.hpp"
#include "strategies/layered.hpp"
#include "strategies/workload.hpp"
#include <tutti/nn/detail/report/plot_panel.hpp>
#include <tutti/simulation/simulate_schedule.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

bench::settings settings(
    "rate=10G server_rate= latency=20000 overhead=5000 combine=100 segment=1048576 workers=1,2,4,8,16,32 "
    "ranks_per_host=1 servers=1 how=server,ring,butterfly models= side=224 batch= images= hide=nothing piece=0 "
    "format=table svg=");

std::size_t number(char const* name, std::size_t least = 0) {
  return bench::whole(name, settings.text(name, ""), least);
}

tutti::loggp interface(char const* rate) {
  return {std::chrono::nanoseconds(number("latency")), std::chrono::nanoseconds(number("overhead")),
          std::chrono::nanoseconds(0),
          tutti::at_gigabits(bench::bits_per_second(rate, settings.text(rate, "")) * 1e-9)};
}

bench::cluster cluster() {
  return {interface(settings.text("server_rate", "").empty() ? "rate" : "server_rate"), interface("rate"),
          tutti::picoseconds(number("combine")), static_cast<tutti::rank_type>(number("ranks_per_host", 1))};
}

/// Rates in whole picoseconds a byte, as the simulation uses them: "2.5 Gbit/s".
std::string rates_in_words() {
  auto const words = [](tutti::loggp const& nic) {
    char text[48];
    std::snprintf(text, sizeof text, "%g Gbit/s", 8000 / static_cast<double>(nic.per_byte.count()));
    return std::string(text);
  };
  auto const hosts = cluster();
  std::string const workers = words(hosts.worker);
  return workers == words(hosts.server) ? workers : workers + ", servers at " + words(hosts.server);
}

std::vector<std::string> names(char const* setting) {
  std::vector<std::string> result;
  std::istringstream words(settings.text(setting, ""));
  for (std::string word; std::getline(words, word, ',');) {
    result.push_back(word);
  }
  return result;
}

/// The selected models, with the selected batch and speed.
std::vector<bench::workload> models() {
  auto workloads = bench::workloads(number("side", 1));
  auto const selection = names("models");
  for (std::string const& name : selection) {
    if (std::ranges::find(workloads, name, &bench::workload::name) == workloads.end()) {
      std::string known_names;
      for (bench::workload const& workload : workloads) {
        known_names += (known_names.empty() ? "" : ", ") + workload.name;
      }
      throw std::runtime_error("models=" + name + ": some of " + known_names + " are expected");
    }
  }
  std::erase_if(workloads, [&](bench::workload const& workload) {
    return !selection.empty() && std::ranges::find(selection, workload.name) == selection.end();
  });
  for (bench::workload& workload : workloads) {
    if (auto const batch = settings.text("batch", ""); !batch.empty()) {
      workload.batch = static_cast<double>(bench::whole("batch", batch, 1));
    }
    if (auto const images = settings.text("images", ""); !images.empty()) {
      workload.images_per_second = bench::real("images", images);
      if (!(workload.images_per_second > 0)) {
        throw std::runtime_error("images=" + images + ": more than 0 images a second are expected");
      }
    }
  }
  return workloads;
}

/// Seconds of an operation on this many floats among workers and servers.
template <class Topology, class Op>
double simulated_seconds(Topology topology, Op op, tutti::rank_type servers, tutti::rank_type workers,
                         std::size_t numbers) {
  auto const hosts = cluster();
  auto const report =
      tutti::simulate_schedule(hosts.network(servers, workers), topology, op, servers + workers,
                               {numbers, sizeof(float), number("segment")}, {.place = hosts.place(servers, workers)});
  return static_cast<double>(report.time().count()) * 1e-12;
}

/// Seconds of the exchange of a step, after its computing.
double exchange(std::string_view method, tutti::rank_type workers, std::size_t numbers) {
  using tutti::op::allreduce;
  if (number("servers", 1) != 1) {
    throw std::runtime_error("servers=" + settings.text("servers", "") +
                             " with hide=nothing: give 1, or hide=ready, after or forward");
  }
  return method == "server" ? simulated_seconds(tutti::star{}, allreduce{}, 1, workers, numbers)
         : method == "multicast"
             ? simulated_seconds(tutti::star{}, tutti::op::reduce{0}, 1, workers, numbers) +
                   simulated_seconds(tutti::in_network{}, tutti::op::broadcast{0}, 1, workers, numbers)
         : method == "in_network" ? simulated_seconds(tutti::in_network{}, allreduce{}, 0, workers, numbers)
         : method == "ring"       ? simulated_seconds(tutti::ring{}, allreduce{}, 0, workers, numbers)
                                  : simulated_seconds(tutti::butterfly{}, allreduce{}, 0, workers, numbers);
}

bench::step layer_by_layer(std::string_view method, tutti::rank_type workers, bench::workload const& work) {
  using enum bench::layered_training::distribution_policy;
  auto const hide = settings.one_of("hide", {"nothing", "ready", "after", "forward"});
  bench::layered_training const training{cluster(), work.layers, work.batch / work.images_per_second,
                                         number("piece") / sizeof(float),
                                         hide == "ready"   ? when_ready
                                         : hide == "after" ? when_complete
                                                           : in_forward_order};
  auto const servers = static_cast<tutti::rank_type>(number("servers", 1));
  if (method == "server" || method == "multicast") {
    return method == "server" ? bench::simulate_servers<tutti::star>(training, servers, workers)
                              : bench::simulate_servers<tutti::in_network>(training, servers, workers);
  }
  if (hide != "ready") {
    throw std::runtime_error("hide=" + std::string(hide) + ": how=" + std::string(method) +
                             " has no server that hands out; give hide=ready");
  }
  return method == "in_network" ? bench::simulate_workers<tutti::in_network>(training, workers)
         : method == "ring"     ? bench::simulate_workers<tutti::ring>(training, workers)
                                : bench::simulate_workers<tutti::butterfly>(training, workers);
}

bench::step step(std::string_view method, tutti::rank_type workers, bench::workload const& work) {
  double const compute_time = work.batch / work.images_per_second;
  if (workers == 1) {
    return {.seconds = compute_time};
  }
  if (settings.text("hide", "") != "nothing") {
    return layer_by_layer(method, workers, work);
  }
  return {.seconds = compute_time + exchange(method, workers, work.parameters())};
}

/// Prints a line of the table, or lines of csv. @returns images per second over workers
std::vector<tutti::nn::detail::plot_point> print_row(std::string const& method, bench::workload const& work, bool csv) {
  std::vector<tutti::nn::detail::plot_point> points;
  if (!csv) {
    std::printf("%-12s %-10s", work.name.c_str(), method.c_str());
  }
  for (std::size_t const worker_count : bench::wholes("workers", settings.text("workers", ""), 1)) {
    auto const s = step(method, static_cast<tutti::rank_type>(worker_count), work);
    auto const workers = static_cast<double>(worker_count);
    points.push_back({workers, workers * work.batch / s.seconds});
    if (csv) {
      std::printf("%s,%s,%zu,%zu,%.0f,%.9f,%.9f,%.6g,%.9f,%.9f,%.0f,%.0f,%.0f\n", work.name.c_str(), method.c_str(),
                  worker_count, work.parameters(), work.batch, work.batch / work.images_per_second, s.seconds,
                  points.back().y, s.aggregation, s.distribution, s.push_left, s.pull_left, s.pull_left_yet);
    } else {
      std::printf(" %9.0f", points.back().y);
    }
    std::fflush(stdout);
  }
  std::printf("%s", csv ? "" : "\n");
  return points;
}

/// Panel number i of two columns: speeds with the server and with the ring, and without any exchange.
tutti::nn::detail::plot_panel panel(std::size_t i, bench::workload const& work,
                                    std::vector<tutti::nn::detail::plot_point> server,
                                    std::vector<tutti::nn::detail::plot_point> ring) {
  namespace nn = tutti::nn;
  double const maximum = ring.back().x;
  std::vector<double> ticks;
  double greatest = 0;
  for (auto const& curve : {server, ring}) {
    for (auto const& point : curve) {
      greatest = std::max(greatest, point.y);
    }
  }
  for (auto const& point : ring) {
    ticks.push_back(point.x);
  }
  auto const row = static_cast<double>(i / 2);
  nn::detail::plot_panel result(
      work.name, {70 + 430 * static_cast<double>(i % 2), 70 + 220 * row, 340, 160},
      {.right = maximum, .low = 0, .high = 1.08 * greatest, .x_labels = "", .x_ticks = std::move(ticks)});
  return result.add({"ideal", "#a0a0a0", {{0, 0}, {maximum, maximum * work.images_per_second}}, false, true})
      .add({"server", "#c0392b", std::move(server), true})
      .add({"ring", "#2f6fb3", std::move(ring), true});
}

void write(std::string const& path, std::vector<tutti::nn::detail::plot_panel> const& panels) {
  std::ofstream file(path, std::ios::binary);
  file << tutti::nn::detail::svg_picture(900, 70 + 220 * static_cast<double>((panels.size() + 1) / 2),
                                         "images per second over workers, " + rates_in_words(), "", panels);
  file.close();
  if (!file) {
    throw std::runtime_error("cannot write " + path);
  }
}

void run() {
  bool const csv = settings.one_of("format", {"table", "csv"}) == "csv";
  auto const methods = names("how");
  for (std::string const& method : methods) {
    (void)bench::settings("how=" + method).one_of("how", {"server", "multicast", "in_network", "ring", "butterfly"});
  }
  auto const path = settings.text("svg", "");
  if (!path.empty() && (std::ranges::count(methods, "server") == 0 || std::ranges::count(methods, "ring") == 0)) {
    throw std::runtime_error("svg=" + path + " shows a server and a ring: how= must name both");
  }
  if (csv) {
    std::printf(
        "model,how,workers,parameters,batch,computing_s,step_s,images_per_s,aggregation_s,distribution_s,"
        "push_left,pull_left,pull_left_yet\n");
  } else {
    std::printf("images/s at %s, workers: %s\n", rates_in_words().c_str(), settings.text("workers", "").c_str());
  }
  std::vector<tutti::nn::detail::plot_panel> panels;
  for (bench::workload const& work : models()) {
    std::vector<tutti::nn::detail::plot_point> server;
    std::vector<tutti::nn::detail::plot_point> ring;
    for (std::string const& method : methods) {
      auto points = print_row(method, work, csv);
      (method == "server" ? server : method == "ring" ? ring : points).swap(points);
    }
    if (!path.empty()) {
      panels.push_back(panel(panels.size(), work, std::move(server), std::move(ring)));
    }
  }
  if (!path.empty()) {
    write(path, panels);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (!bench::read_known(argc, argv, settings)) {
    return 2;
  }
  run();
} catch (std::exception const& e) {
  std::fprintf(stderr, "strategies: %s\n", e.what());
  return 1;
}
