// SPDX-License-Identifier: Apache-2.0
//
// Compares ways of cooperation where workers are slow. Trains a perceptron with every way in virtual time, and shows
// the accuracy after each epoch. Weights and gradients are real, time is virtual, so each run of a seed gives the same
// figures.
//
//   consistency [data=FOLDER] [samples=3000] [test_samples=1000] [how=NAMES] [workers=4] [slow=none|one|all] [factor=4]
//               [hidden=64] [epochs=8] [batch=128] [rate=0.1] [last_rate=0.02] [momentum=0.9] [image_us=100]
//               [each=2] [network=25G] [latency_us=20] [seeds=1] [format=table|csv]
//
// The settings: how=servers_sync, servers_stale (3 steps), servers_async, gossip (staleness 3), allreduce (a ring),
// hybrid (sums within hosts, then a ring among them); default: all. slow: no worker, the last one by `factor`, or each
// gradient of any worker by a factor drawn from 1 to `factor`. each: workers of a host; the server has a host of its
// own. data: MNIST's files or others like them; by default digits are drawn. A worker's gradient takes image_us for
// each image of its part of a batch; servers and optimizers take no time.
#include "../common/known_settings.hpp"
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/data/read_folder.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/parameter_server/train.hpp>
#include <tutti/nn/simulation/simulated_speed.hpp>
#include <tutti/nn/strategy/averaging/gossip.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/simulation/simulate.hpp>
#include <tutti/topology/selection.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nn = tutti::nn;
namespace ps = tutti::nn::parameter_server;

namespace {

bench::settings settings(
    "data= samples=3000 test_samples=1000 how= workers=4 slow=none factor=4 hidden=64 epochs=8 batch=128 rate=0.1 "
    "last_rate=0.02 momentum=0.9 image_us=100 each=2 network=25G latency_us=20 seeds=1 format=table");

constexpr std::array all_methods{"servers_sync", "servers_stale", "servers_async", "gossip", "allreduce", "hybrid"};
constexpr std::size_t staleness = 3;

std::size_t number(char const* name, std::size_t least = 0) {
  return bench::whole(name, settings.text(name, ""), least);
}
double real(char const* name) {
  return bench::real(name, settings.text(name, ""));
}

/// One training and its parameters.
struct job {
  std::string method;
  tutti::rank_type workers = 0;
  nn::settings training{};
  nn::simulated_speed fast{};
  nn::simulated_speed slow{};  ///< speed of the last worker
  double image_us = 0;

  [[nodiscard]] bool uses_servers() const { return method.starts_with("servers"); }

  /// Time of the gradient in a worker's step.
  [[nodiscard]] tutti::picoseconds time_of(tutti::rank_type worker, std::size_t step) const {
    auto const& speed = worker + 1 == workers ? slow : fast;
    double const images = static_cast<double>(training.batch) / workers;
    return tutti::picoseconds(
        static_cast<std::int64_t>(1e6 * image_us * images * speed.factor_at(training.seed, worker, step)));
  }
};

struct evaluation {
  double seconds = 0;  ///< virtual time
  double accuracy = 0;
};

/// An observer that records accuracies with the virtual time, and spends the time of the next gradient after each
/// step.
template <class World>
class watch {
 public:
  watch(World& world, job const& work, nn::replica const& model, std::vector<evaluation>& evaluations)
      : world_(world), work_(work), steps_(model.plan().steps()), evaluations_(evaluations) {}

  /// Spends the time of a gradient of this worker.
  void compute(tutti::rank_type worker) { world_.transport().spend(work_.time_of(worker, step_++)); }

  void step(nn::step_result const&, nn::replica const&) {}
  void after_step(nn::replica const& model) {
    if (step_ != steps_) {
      compute(model.rank());
    }
  }
  void epoch(nn::epoch_result const& outcome) {
    if (world_.rank() == 0) {
      evaluations_.push_back({nn::detail::seconds(world_.transport().now()), outcome.test_accuracy});
    }
  }

 private:
  World& world_;
  job const& work_;
  std::size_t steps_;
  std::size_t step_ = 0;
  std::vector<evaluation>& evaluations_;
};

template <class World>
void train(World& world, job const& work, nn::data_pair const& data, std::vector<evaluation>& evaluations) {
  tutti::rank_type const servers = work.uses_servers() ? 1 : 0;
  tutti::rank_type const worker = world.rank() < servers ? 0 : world.rank() - servers;
  auto const hidden_sizes = bench::wholes("hidden", settings.text("hidden", ""), 1);
  nn::replica model(nn::model<float>(nn::mlp<float>(data.training.features(), hidden_sizes, data.training.classes,
                                                    nn::hidden_activation::relu),
                                     nn::replica::extra_scalars),
                    data.training, data.test, work.training, worker, work.workers);
  watch observer(world, work, model, evaluations);
  if (work.uses_servers()) {
    ps::clock_value const staleness_bound = work.method == "servers_sync"    ? 0
                                            : work.method == "servers_stale" ? staleness
                                                                             : ps::consistency::no_bound;
    auto const pace = [&](tutti::rank_type me, tutti::duration) { observer.compute(me); };
    (void)ps::train(world, ps::roles(world.size(), servers), model, {.staleness = staleness_bound}, {}, pace, observer);
    return;
  }
  observer.compute(worker);
  tutti::selection const ring(tutti::schedule_kind::ring, &world.hosts());
  tutti::selection const hosts(tutti::schedule_kind::hosts_ring, &world.hosts());
  if (work.method == "gossip") {
    nn::gossip strategy(world, ring, nn::neighbours::ring, staleness);
    nn::train(model, strategy, observer);
  } else {
    nn::synchronous strategy(world, work.method == "hybrid" ? hosts : ring);
    nn::train(model, strategy, observer);
  }
}

std::vector<evaluation> run(job const& work, nn::data_pair const& data) {
  tutti::rank_type const servers = work.uses_servers() ? 1 : 0;
  auto const workers_per_host = static_cast<tutti::rank_type>(number("each", 1));
  tutti::simulation_options options;
  options.stack_bytes = std::size_t{4} << 20;
  for (tutti::rank_type r = 0; r != servers + work.workers; ++r) {
    options.place.push_back(r < servers ? r : servers + (r - servers) / workers_per_host);
  }
  double const rate = bench::bits_per_second("network", settings.text("network", ""));
  auto const net = tutti::one_switch(
      options.place.back() + 1, {.latency = std::chrono::microseconds(static_cast<std::int64_t>(number("latency_us"))),
                                 .per_byte = tutti::at_gigabits(rate * 1e-9)});
  std::vector<evaluation> evaluations;
  auto simulation = tutti::simulate(
      net, servers + work.workers, [&](auto& world) { train(world, work, data, evaluations); }, options);
  for (auto& outcome : simulation.results) {
    outcome.value();
  }
  return evaluations;
}

std::vector<std::string> selected_methods() {
  std::string const text = settings.text("how", "");
  std::vector<std::string> result;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    std::size_t const end = std::min(text.find(',', begin), text.size());
    result.push_back(text.substr(begin, end - begin));
    if (std::ranges::find(all_methods, result.back()) == all_methods.end()) {
      throw std::runtime_error(
          "how=" + result.back() +
          ": expected some of servers_sync, servers_stale, servers_async, gossip, allreduce, hybrid");
    }
    begin = end + 1;
  }
  return result.empty() ? std::vector<std::string>(all_methods.begin(), all_methods.end()) : result;
}

nn::data_pair data_of(std::uint64_t seed) {
  std::string const folder = settings.text("data", "");
  if (!folder.empty()) {
    return nn::read_folder(folder);
  }
  std::size_t const samples = number("samples", 1);
  return {nn::digits(samples, seed), nn::digits(number("test_samples", 1), seed, samples)};
}

void print(job const& work, std::string_view slow, std::vector<evaluation> const& evaluations, bool csv) {
  for (std::size_t e = 0; e != evaluations.size(); ++e) {
    std::printf(csv ? "%s,%u,%s,%llu,%zu,%.6f,%.4f\n" : "%-14s %7u  %-4s %5llu %6zu %10.4f %10.4f\n",
                work.method.c_str(), work.workers, slow.data(), static_cast<unsigned long long>(work.training.seed),
                e + 1, evaluations[e].seconds, evaluations[e].accuracy);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  if (!bench::read_known(argc, argv, settings)) {
    return 2;
  }
  bool const csv = settings.one_of("format", {"table", "csv"}) == "csv";
  auto const slow = settings.one_of("slow", {"none", "one", "all"});
  double const factor = real("factor");
  if (!(factor >= 1)) {
    throw std::runtime_error("factor=" + settings.text("factor", "") + ": at least 1 is expected");
  }
  auto const workers = bench::wholes("workers", settings.text("workers", ""), 2);
  auto const methods = selected_methods();
  nn::set_threads(1);
  std::printf(csv ? "how,workers,slow,seed,epoch,seconds,accuracy\n"
                  : "how            workers  slow  seed  epoch    seconds   accuracy\n");
  for (std::size_t const seed : bench::wholes("seeds", settings.text("seeds", ""))) {
    auto const data = data_of(seed);
    job work;
    work.training.seed = seed;
    work.training.epochs = number("epochs", 1);
    work.training.batch = number("batch", 1);
    work.training.rate = static_cast<float>(real("rate"));
    work.training.last_rate = static_cast<float>(real("last_rate"));
    work.training.momentum = static_cast<float>(real("momentum"));
    work.image_us = real("image_us");
    work.fast.max_random_factor = slow == "all" ? factor : 1;
    work.slow = work.fast;
    work.slow.factor = slow == "one" ? factor : 1;
    if (work.training.batch > data.training.size()) {
      throw std::runtime_error("batch=" + settings.text("batch", "") + ": there are only " +
                               std::to_string(data.training.size()) + " images");
    }
    for (std::size_t const n : workers) {
      work.workers = static_cast<tutti::rank_type>(n);
      for (auto const& method : methods) {
        work.method = method;
        print(work, slow, run(work, data), csv);
      }
    }
  }
  return EXIT_SUCCESS;
} catch (std::exception const& e) {
  std::fprintf(stderr, "consistency: %s\n", e.what());
  return EXIT_FAILURE;
}
