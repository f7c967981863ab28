// SPDX-License-Identifier: Apache-2.0
//
// The part of tutti that bench/training/compare measures: the unchanged trainer, over ranks that are threads. Receives
// commands through a socket, like the contenders of bench/compare: train for some epochs, or multiply matrices.
#include "../common/clock.hpp"
#include "../common/serve.hpp"
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/lenet5.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/transport/loopback.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nn = tutti::nn;

namespace {

std::vector<std::size_t> sizes(std::string text) {
  std::ranges::replace(text, 'x', ' ');
  std::istringstream stream(text);
  return {std::istream_iterator<std::size_t>(stream), {}};
}

/// Reads channels, rows, columns of images; then their bytes, each image's after its label.
nn::dataset read_images(std::string const& path, nn::image_shape const& shape) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> const bytes{std::istreambuf_iterator<char>(file), {}};
  nn::dataset result{.shape = shape, .pixels = {}, .labels = {}};
  std::size_t const record = shape.size() + 1;
  if (bytes.empty() || bytes.size() % record != 0) {
    throw std::runtime_error("data=" + path + ": no images of " + std::to_string(shape.size()) + " bytes and a label");
  }
  for (std::size_t offset = 0; offset != bytes.size(); offset += record) {
    auto const first = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    result.labels.push_back(static_cast<std::uint8_t>(*first));
    std::transform(first + 1, first + static_cast<std::ptrdiff_t>(record), std::back_inserter(result.pixels),
                   [](char c) { return static_cast<std::uint8_t>(c); });
  }
  return result;
}

nn::layer_list<float> network(std::string_view model, std::vector<std::size_t> const& hidden_sizes,
                              nn::dataset const& images) {
  return model == "lenet5" ? nn::lenet5<float>(images.shape, images.classes)
         : model == "resnet"
             ? nn::small_resnet<float>(20, images.shape, images.classes)
             : nn::mlp<float>(images.features(), hidden_sizes, images.classes, nn::hidden_activation::relu);
}

/// A rank's answer to a command: times of its beginning and end, steps, and the last loss.
struct answer {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::size_t steps = 0;
  float loss = 0;
};

/// Reads the clock at the end of the first epoch, which allocates memory and compiles kernels, and after each later
/// step.
class stopwatch {
 public:
  void step(nn::step_result const& outcome, nn::replica const&) {
    if (outcome.epoch != 0) {
      last_.end = bench::now();
      last_.steps += 1;
      last_.loss = outcome.loss;
    }
  }
  void epoch(nn::epoch_result const& outcome) {
    if (outcome.epoch == 0) {
      last_ = {.begin = bench::now()};
    }
  }
  [[nodiscard]] answer const& result() const noexcept { return last_; }

 private:
  answer last_;
};

/// Multiplies matrices of rows x inner and inner x columns, as the layers of a model do: the product of each triple,
/// `times` times.
answer multiply(std::vector<std::size_t> const& triples, std::size_t times) {
  if (triples.empty() || triples.size() % 3 != 0) {
    throw std::runtime_error("shapes= takes rows x columns x inner, one triple after the other");
  }
  answer result{.steps = times};
  for (std::size_t i = 0; i != triples.size(); i += 3) {
    std::size_t const rows = triples[i];
    std::size_t const columns = triples[i + 1];
    std::size_t const inner = triples[i + 2];
    nn::matrix<float> a({rows, inner}, 0.5F);
    nn::matrix<float> b({inner, columns}, 0.5F);
    nn::matrix<float> c({rows, columns}, 0.5F);
    std::int64_t begin = 0;
    for (std::size_t n = 0; n != times + 1; ++n) {
      begin = n == 1 ? bench::now() : begin;
      xt::blas::gemm(a, b, c, false, false, 1.0F, 0.0F);
    }
    result.end += bench::now() - begin;  // begin stays 0
  }
  return result;
}

std::string to_json(answer const& a) {
  return "{\"begin\": " + std::to_string(a.begin) + ", \"end\": " + std::to_string(a.end) +
         ", \"steps\": " + std::to_string(a.steps) + ", \"loss\": " + std::to_string(a.loss) + "}\n";
}

template <class Communicator>
int serve(Communicator& world, bench::settings const& s, nn::dataset const& images) {
  auto const hidden_sizes = sizes(s.text("hidden", ""));
  nn::settings settings;
  settings.epochs = s.number("epochs", 2);
  settings.batch = s.number("batch", 128);
  settings.rate = 0.01F;
  settings.schedule = nn::rate_schedule_kind::constant;
  nn::dataset test{images.shape, images.classes, {}, {}};
  test.pixels.assign(images.pixels.begin(), images.pixels.begin() + static_cast<std::ptrdiff_t>(images.features()));
  test.labels.assign(1, images.labels.front());
  auto const model = s.one_of("model", {"mlp", "lenet5", "resnet"});
  nn::replica replica(nn::model<float>(network(model, hidden_sizes, images), nn::replica::extra_scalars), images, test,
                      settings, world.rank(), world.size());
  nn::synchronous ranks(world, tutti::doubling{});

  bench::command_line commands(s.text("control", ""));
  commands.send("{\"rank\": " + std::to_string(world.rank()) + ", \"pid\": " + std::to_string(::getpid()) + "}\n");
  for (std::string line; commands.next(line);) {
    bench::settings const command(line);
    nn::set_threads(static_cast<int>(command.number("threads", 1)));
    if (command.has("shapes")) {
      commands.send(to_json(multiply(sizes(command.text("shapes", "")), command.number("times", 1))));
    } else {
      stopwatch watch;
      replica.position({});  // restarts at the first epoch
      nn::train(replica, ranks, watch);
      commands.send(to_json(watch.result()));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  bench::settings s;
  for (int i = 1; i != argc; ++i) {
    s.add(argv[i]);
  }
  if (!s.has("control") || !s.has("data")) {
    throw std::runtime_error("bench/training/compare starts this program");
  }
  auto const shape = sizes(s.text("image", "1x28x28"));
  auto const images = read_images(s.text("data", ""), {shape.at(0), shape.at(1), shape.at(2)});
  auto const ranks = static_cast<tutti::rank_type>(s.number("ranks", 1));
  for (auto const& outcome :
       tutti::spawn<tutti::loopback>(ranks, [&](auto& world) { return serve(world, s, images); })) {
    (void)outcome.value();
  }
  return EXIT_SUCCESS;
} catch (std::exception const& e) {
  std::fprintf(stderr, "bench_training: %s\n", e.what());
  return EXIT_FAILURE;
}
