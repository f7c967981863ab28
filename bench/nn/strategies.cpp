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
  auto const both = cluster();
  std::string const workers = words(both.worker);
  return workers == words(both.server) ? workers : workers + ", servers at " + words(both.server);
}

std::vector<std::string> names(char const* setting) {
  std::vector<std::string> all;
  std::istringstream words(settings.text(setting, ""));
  for (std::string word; std::getline(words, word, ',');) {
    all.push_back(word);
  }
  return all;
}

/// The selected models, with the selected batch and speed.
std::vector<bench::workload> models() {
  auto all = bench::workloads(number("side", 1));
  auto const wanted = names("models");
  for (std::string const& name : wanted) {
    if (std::ranges::find(all, name, &bench::workload::name) == all.end()) {
      std::string known;
      for (bench::workload const& one : all) {
        known += (known.empty() ? "" : ", ") + one.name;
      }
      throw std::runtime_error("models=" + name + ": some of " + known + " are expected");
    }
  }
  std::erase_if(all, [&](bench::workload const& one) {
    return !wanted.empty() && std::ranges::find(wanted, one.name) == wanted.end();
  });
  for (bench::workload& one : all) {
    if (auto const batch = settings.text("batch", ""); !batch.empty()) {
      one.batch = static_cast<double>(bench::whole("batch", batch, 1));
    }
    if (auto const images = settings.text("images", ""); !images.empty()) {
      one.images_per_second = bench::real("images", images);
      if (!(one.images_per_second > 0)) {
        throw std::runtime_error("images=" + images + ": more than 0 images a second are expected");
      }
    }
  }
  return all;
}

/// Seconds of an operation on this many floats among workers and servers.
template <class Topology, class Op>
double takes(Topology topology, Op op, tutti::rank_type servers, tutti::rank_type workers, std::size_t numbers) {
  auto const hosts = cluster();
  auto const report =
      tutti::simulate_schedule(hosts.network(servers, workers), topology, op, servers + workers,
                               {numbers, sizeof(float), number("segment")}, {.place = hosts.place(servers, workers)});
  return static_cast<double>(report.time().count()) * 1e-12;
}

/// Seconds of the exchange of a step, after its computing.
double exchange(std::string_view how, tutti::rank_type workers, std::size_t numbers) {
  using tutti::op::allreduce;
  if (number("servers", 1) != 1) {
    throw std::runtime_error("servers=" + settings.text("servers", "") +
                             " with hide=nothing: give 1, or hide=ready, after or forward");
  }
  return how == "server"      ? takes(tutti::star{}, allreduce{}, 1, workers, numbers)
         : how == "multicast" ? takes(tutti::star{}, tutti::op::reduce{0}, 1, workers, numbers) +
                                    takes(tutti::in_network{}, tutti::op::broadcast{0}, 1, workers, numbers)
         : how == "in_network" ? takes(tutti::in_network{}, allreduce{}, 0, workers, numbers)
         : how == "ring"       ? takes(tutti::ring{}, allreduce{}, 0, workers, numbers)
                               : takes(tutti::butterfly{}, allreduce{}, 0, workers, numbers);
}

bench::step layer_by_layer(std::string_view how, tutti::rank_type workers, bench::workload const& work) {
  using enum bench::layered::handing;
  auto const hide = settings.one_of("hide", {"nothing", "ready", "after", "forward"});
  bench::layered const what{cluster(), work.layers, work.batch / work.images_per_second,
                            number("piece") / sizeof(float),
                            hide == "ready"   ? ready
                            : hide == "after" ? after
                                              : forward};
  auto const servers = static_cast<tutti::rank_type>(number("servers", 1));
  if (how == "server" || how == "multicast") {
    return how == "server" ? bench::by_servers<tutti::star>(what, servers, workers)
                           : bench::by_servers<tutti::in_network>(what, servers, workers);
  }
  if (hide != "ready") {
    throw std::runtime_error("hide=" + std::string(hide) + ": how=" + std::string(how) +
                             " has no server that hands out; give hide=ready");
  }
  return how == "in_network" ? bench::by_workers<tutti::in_network>(what, workers)
         : how == "ring"     ? bench::by_workers<tutti::ring>(what, workers)
                             : bench::by_workers<tutti::butterfly>(what, workers);
}

bench::step step(std::string_view how, tutti::rank_type workers, bench::workload const& work) {
  double const computing = work.batch / work.images_per_second;
  if (workers == 1) {
    return {.seconds = computing};
  }
  if (settings.text("hide", "") != "nothing") {
    return layer_by_layer(how, workers, work);
  }
  return {.seconds = computing + exchange(how, workers, work.parameters())};
}

/// Prints a line of the table, or lines of csv. @returns images per second over workers
std::vector<tutti::nn::detail::plot_point> row(std::string const& how, bench::workload const& work, bool csv) {
  std::vector<tutti::nn::detail::plot_point> points;
  if (!csv) {
    std::printf("%-12s %-10s", work.name.c_str(), how.c_str());
  }
  for (std::size_t const one : bench::wholes("workers", settings.text("workers", ""), 1)) {
    auto const s = step(how, static_cast<tutti::rank_type>(one), work);
    auto const workers = static_cast<double>(one);
    points.push_back({workers, workers * work.batch / s.seconds});
    if (csv) {
      std::printf("%s,%s,%zu,%zu,%.0f,%.9f,%.9f,%.6g,%.9f,%.9f,%.0f,%.0f,%.0f\n", work.name.c_str(), how.c_str(), one,
                  work.parameters(), work.batch, work.batch / work.images_per_second, s.seconds, points.back().y,
                  s.aggregation, s.distribution, s.push_left, s.pull_left, s.pull_left_yet);
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
      {.right = most, .low = 0, .high = 1.08 * high, .x_labels = "", .x_ticks = std::move(ticks)});
  return result.add({"ideal", "#a0a0a0", {{0, 0}, {most, most * work.images_per_second}}, false, true})
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
  auto const hows = names("how");
  for (std::string const& how : hows) {
    (void)bench::settings("how=" + how).one_of("how", {"server", "multicast", "in_network", "ring", "butterfly"});
  }
  auto const path = settings.text("svg", "");
  if (!path.empty() && (std::ranges::count(hows, "server") == 0 || std::ranges::count(hows, "ring") == 0)) {
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
    for (std::string const& how : hows) {
      auto points = row(how, work, csv);
      (how == "server" ? server : how == "ring" ? ring : points).swap(points);
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
