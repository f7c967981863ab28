// SPDX-License-Identifier: Apache-2.0
//
// Measures the worth of staleness when one worker of a parameter server is slow: the time until a network recognises
// most of the test images. Weights and gradients are real, time is virtual, so each run of a seed gives the same
// figures.

#include "../common/numbers.hpp"
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/data/read_folder.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/parameter_server/train.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/simulation/simulate.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace nn = tutti::nn;
namespace ps = tutti::nn::parameter_server;

namespace {

constexpr char const* usage = R"(usage: staleness FOLDER [FACTOR [SEEDS]]

FOLDER has MNIST's four files, or files of their form. One server and three workers, which take 25 us for each image;
the last worker takes first as long, then FACTOR times as long (4 by default). Links of 10 Gbit/s, 20 us; arithmetic of
servers takes no time. Batch 128, rate 0.03 falling to 0.01 in 4 epochs, momentum 0.9. Worker 0 tests the weights that
it reads every 20 steps, in no time. Prints medians and extremes over SEEDS runs (5 by default).
)";

constexpr tutti::rank_type workers = 3;
constexpr double target = 0.97;
constexpr std::array<std::size_t, 2> hidden_sizes{256, 128};

/// Ends a simulation whose result is known.
struct target_reached : std::runtime_error {
  target_reached() : std::runtime_error("the target is reached") {}
};

struct result {
  double seconds = 0;  ///< virtual time until the target is reached; 0 if it is not
  std::size_t steps[workers] = {};
};

/// A measured case, with a run for each seed.
struct row {
  double factor;
  ps::clock_value staleness;
  std::vector<result> runs{};
};

result measure(nn::data_pair const& data, row const& setup, std::uint64_t seed) {
  double const factor = setup.factor;
  nn::settings settings;
  settings.seed = seed;
  settings.epochs = 4;
  settings.rate = 0.03F;
  settings.last_rate = 0.01F;
  result outcome;
  tutti::simulation_options options;
  options.stack_bytes = std::size_t{4} << 20;
  auto const net =
      tutti::one_switch(workers + 1, {.latency = std::chrono::microseconds(20), .per_byte = tutti::at_gigabits(10)});
  (void)tutti::simulate(
      net, workers + 1,
      [&](auto& world) {
        ps::roles const roles(workers + 1, 1);
        nn::replica model(nn::model<float>(nn::mlp<float>(784, hidden_sizes, 10, nn::hidden_activation::relu),
                                           nn::replica::extra_scalars),
                          data.training, data.test, settings,
                          roles.serves(world.rank()) ? 0 : roles.worker(world.rank()), workers);
        auto const pace = [&](tutti::rank_type worker, tutti::duration) {
          if (outcome.seconds > 0) {
            throw target_reached();
          }
          if (worker == 0 && outcome.steps[0] % 20 == 0 &&
              double{model.test(0, 1).correct} >= target * static_cast<double>(model.test_size())) {
            outcome.seconds = nn::detail::seconds(world.transport().now());
            throw target_reached();
          }
          ++outcome.steps[worker];
          double const images = static_cast<double>(settings.batch) / workers;
          double const microseconds = 25 * images * (worker + 1 == workers ? factor : 1);
          world.transport().spend(tutti::picoseconds(static_cast<std::int64_t>(microseconds * 1e6)));
        };
        (void)ps::train(world, roles, model, {.staleness = setup.staleness}, {}, pace);
      },
      options);
  return outcome;
}

void print(row& entry) {
  std::ranges::sort(entry.runs, {}, &result::seconds);
  auto const& median_run = entry.runs[entry.runs.size() / 2];
  std::printf("%7.1f  %9s  %7.3f s (%.3f to %.3f)   %zu, %zu, %zu\n", entry.factor,
              entry.staleness == ps::consistency::no_bound ? "unbounded" : std::to_string(entry.staleness).c_str(),
              median_run.seconds, entry.runs.front().seconds, entry.runs.back().seconds, median_run.steps[0],
              median_run.steps[1], median_run.steps[2]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs(usage, stderr);
    return 2;
  }
  try {
    auto const data = nn::read_folder(argv[1]);
    double const factor = argc > 2 ? bench::real("factor", argv[2]) : 4;
    std::uint64_t const seeds = argc > 3 ? bench::whole("seeds", argv[3], 1) : 5;
    nn::set_threads(1);
    std::printf("slow by  staleness   to %.0f %%   steps of the workers\n", 100 * target);
    for (double const slow : {1.0, factor}) {
      for (ps::clock_value const staleness : {ps::clock_value{0}, ps::clock_value{3}, ps::consistency::no_bound}) {
        row entry{slow, staleness};
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
          entry.runs.push_back(measure(data, entry, seed));
        }
        print(entry);
        std::fflush(stdout);
      }
    }
    return EXIT_SUCCESS;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "staleness: %s\n", e.what());
    return EXIT_FAILURE;
  }
}
