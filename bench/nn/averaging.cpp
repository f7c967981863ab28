// SPDX-License-Identifier: Apache-2.0
//
// Shows whether a network is worse if its weights are averaged by another schedule, or by a wrong one. Each rank
// trains a perceptron of four layers on its own images, one at a time, and after every few the ranks average their
// weights. One line for each schedule: the verifier's judgement, the accuracy of the ranks on test images, and the
// distance between their weights in the end. `apart` averages nothing; wrong schedules are those in
// averaging/wrong_ring.hpp.
//
//   averaging [data=FOLDER] [samples=8000] [test_samples=2000] [ranks=8] [hidden=32,64] [epochs=1] [every=125]
//             [rate=0.1] [number=float|double] [seed=1] [how=NAMES] [format=table|csv]
//
// data: the four files of MNIST, or others like them; without it digits are drawn, `samples` and `test_samples` of
// them. every: images of a rank between two averagings.
#include "../common/known_settings.hpp"
#include "averaging/trainee.hpp"
#include "averaging/wrong_ring.hpp"
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/data/read_folder.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/selection.hpp>
#include <tutti/topology/verify.hpp>
#include <tutti/transport/loopback.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

bench::settings settings(
    "data= samples=8000 test_samples=2000 ranks=8 hidden=32,64 epochs=1 every=125 rate=0.1 number=float seed=1 how= "
    "format=table");

std::size_t number(char const* name, std::size_t least) {
  return bench::whole(name, settings.text(name, ""), least);
}

/// The mean of two operands at every hop: the last contributions count for most.
template <class T>
struct mean_of_two : tutti::sum<T> {
  static constexpr std::string_view name = "mean_of_two";

  [[nodiscard]] static constexpr T combine(T a, T b) noexcept { return (a + b) / 2; }
};

/// Results of one rank.
struct rank_result {
  double accuracy = 0;
  double distance = 0;  ///< largest distance of a weight from rank 0's
};

/// Trains, and averages weights by average(weights, means) at each interval.
template <class T, class World, class Allreduce>
rank_result train(World& world, tutti::nn::data_pair const& data, bench::training const& options, Allreduce&& average) {
  bench::trainee<T> trainee(data.training, options, world.rank(), world.size());
  std::vector<T> means(trainee.weights().size());
  while (trainee.train()) {
    std::ranges::copy(trainee.weights(), means.begin());  // blocks that no step writes stay this rank's own
    average(std::span<T const>(trainee.weights()), std::span<T>(means));
    std::ranges::copy(means, trainee.weights().begin());
  }
  rank_result result{.accuracy = trainee.test(data.test)};
  std::vector<T> first(trainee.weights().begin(), trainee.weights().end());
  tutti::broadcast{world, tutti::doubling{}}(first, 0);
  for (std::size_t i = 0; i != first.size(); ++i) {
    result.distance = std::max(result.distance, std::abs(static_cast<double>(first[i] - trainee.weights()[i])));
  }
  return result;
}

/// Trains one rank with this schedule.
template <class T, class World>
rank_result train_with(World& world, std::string_view name, tutti::nn::data_pair const& data,
                       bench::training const& options) {
  if (name == "apart") {
    return train<T>(world, data, options, [](std::span<T const>, std::span<T>) {});
  }
  if (name == bench::name(bench::mistake::mean_per_hop)) {  // done by a reduction, as the engine refuses such steps
    return train<T>(world, data, options, tutti::allreduce{world, tutti::ring{}, mean_of_two<T>{}});
  }
  for (auto const mistake : bench::all_mistakes) {
    if (name == bench::name(mistake)) {
      return train<T>(world, data, options, tutti::allreduce{world, bench::wrong_ring{mistake}, tutti::mean<T>{}});
    }
  }
  auto const* const kind = std::ranges::find(tutti::all_schedule_kinds, name, [](auto k) { return tutti::name(k); });
  return train<T>(world, data, options, tutti::allreduce{world, tutti::selection(*kind), tutti::mean<T>{}});
}

/// The verifier's objection to a schedule; empty if it is right.
std::string_view verdict(std::string_view name, tutti::rank_type n) {
  for (auto const mistake : bench::all_mistakes) {
    if (name == bench::name(mistake)) {
      return tutti::verify(bench::wrong_ring{mistake}, tutti::op::allreduce{}, n).reason;
    }
  }
  if (name == "apart") {
    return "averages nothing";
  }
  auto const* const kind = std::ranges::find(tutti::all_schedule_kinds, name, [](auto k) { return tutti::name(k); });
  return tutti::verify(tutti::selection(*kind), tutti::op::allreduce{}, n).reason;
}

std::vector<std::string> schedules() {
  std::vector<std::string> names{"ring", "binary_tree", "doubling", "butterfly", "apart"};
  for (auto const mistake : bench::all_mistakes) {
    names.emplace_back(bench::name(mistake));
  }
  std::string const text = settings.text("how", "");
  if (text.empty()) {
    return names;
  }
  std::vector<std::string> selection;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t const end = std::min(text.find(',', begin), text.size());
    selection.push_back(text.substr(begin, end - begin));
    if (std::ranges::find(names, selection.back()) == names.end()) {
      throw std::runtime_error("how=" + selection.back() +
                               ": expected some of ring, binary_tree, doubling, butterfly, "
                               "apart and the mistakes of averaging/wrong_ring.hpp");
    }
    begin = end + 1;
  }
  return selection;
}

tutti::nn::data_pair data() {
  std::string const folder = settings.text("data", "");
  if (!folder.empty()) {
    return tutti::nn::read_folder(folder);
  }
  std::size_t const samples = number("samples", 1);
  std::size_t const seed = number("seed", 0);
  return {tutti::nn::digits(samples, seed), tutti::nn::digits(number("test_samples", 1), seed, samples)};
}

template <class T>
void print_row(std::string const& name, tutti::nn::data_pair const& data, bench::training const& options, bool csv) {
  auto const n = static_cast<tutti::rank_type>(number("ranks", 3));
  auto ranks = tutti::spawn<tutti::loopback>(n, [&](auto& world) { return train_with<T>(world, name, data, options); });
  double least = 1;
  double greatest = 0;
  double sum = 0;
  double distance = 0;
  for (auto& outcome : ranks) {
    rank_result const& result = outcome.value();
    least = std::min(least, result.accuracy);
    greatest = std::max(greatest, result.accuracy);
    sum += result.accuracy;
    distance = std::max(distance, result.distance);
  }
  std::string const objection(verdict(name, n));
  std::printf(csv ? "%s,%.4f,%.4f,%.4f,%.9g,%s\n" : "%-15s %8.2f %8.2f %8.2f %10.3g  %s\n", name.c_str(),
              (csv ? 1 : 100) * sum / n, (csv ? 1 : 100) * least, (csv ? 1 : 100) * greatest, distance,
              objection.empty() ? "accepted" : objection.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  if (!bench::read_known(argc, argv, settings)) {
    return 2;
  }
  bool const csv = settings.one_of("format", {"table", "csv"}) == "csv";
  bool const is_double = settings.one_of("number", {"float", "double"}) == "double";
  auto const hidden_sizes = bench::wholes("hidden", settings.text("hidden", ""), 1);
  bench::training const options{.hidden_sizes = hidden_sizes,
                                .epochs = number("epochs", 1),
                                .interval = number("every", 1),
                                .rate = bench::real("rate", settings.text("rate", "")),
                                .seed = number("seed", 0)};
  auto const selection = schedules();
  auto const images = data();
  if (images.training.size() < number("ranks", 3)) {
    throw std::runtime_error("ranks=" + settings.text("ranks", "") + ": there are only " +
                             std::to_string(images.training.size()) + " images, and each rank needs one");
  }
  tutti::nn::set_threads(1);
  std::printf(csv ? "how,accuracy,least,most,far,verdict\n"
                  : "schedule        accuracy    least     most        far  verifier\n");
  for (auto const& name : selection) {
    is_double ? print_row<double>(name, images, options, csv) : print_row<float>(name, images, options, csv);
  }
} catch (std::exception const& e) {
  std::fprintf(stderr, "averaging: %s\n", e.what());
  return 1;
}
