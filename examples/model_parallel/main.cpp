// SPDX-License-Identifier: Apache-2.0
//
// A model that is too large for one worker, trained by several. See docs/trainer/model_parallel.md.
#include "../../tools/common/real_range.hpp"
#include "job.hpp"
#include <tutti/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/data/read_folder.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace {

options read_options(int argc, char** argv) {
  options o;
  CLI::App app{
      "Trains a model whose parts are on several ranks, each a process with limited memory:\n"
      "  tensor    every dense layer is split over all ranks\n"
      "  pipeline  each rank has some of the dense layers; micro-batches go from rank to rank\n"
      "  spatial   each rank has a band of the rows of a convolutional network's images\n"
      "  data      each rank has the whole model and a part of the batch, to compare\n"};
  app.option_defaults()->always_capture_default();
  auto const at_least_one = CLI::Range(std::size_t{1}, std::size_t{1'000'000});
  app.add_option("--how", o.parallelism, "The way to cut the model")
      ->check(CLI::IsMember({"tensor", "pipeline", "spatial", "data"}));
  app.add_option("--ranks", o.ranks, "Number of processes")->check(CLI::Range(1U, 64U));
  app.add_option("--memory", o.memory, "MiB that each rank may use for its part; 0: no limit");
  app.add_option("--data", o.data, "builtin, or a folder with the files of MNIST");
  app.add_option("--samples", o.samples, "Training images, if built in")->check(at_least_one);
  app.add_option("--epochs", o.epochs, "Passes over the training images")->check(at_least_one);
  app.add_option("--batch", o.batch, "Images of a step, over all ranks")->check(at_least_one);
  app.add_option("--lr", o.rate, "Learning rate at the beginning; it falls to 0")->check(real_range(0.0, 10.0));
  app.add_option("--width", o.width, "Units of a hidden layer (all but spatial)")->check(at_least_one);
  app.add_option("--depth", o.depth, "Hidden layers (all but spatial)")->check(at_least_one);
  app.add_option("--micro-batches", o.micro_batches, "Pieces of a batch (pipeline)")->check(at_least_one);
  app.add_option("--schedule", o.schedule, "Order of a stage's work (pipeline)")
      ->check(CLI::IsMember({"1f1b", "gpipe"}));
  app.add_option("--model", o.model, "The model of each rank (data): the dense layers, or the network of spatial")
      ->check(CLI::IsMember({"dense", "convolutions"}));
  app.add_option("--seed", o.seed, "Seed of weights, order of images, built-in images");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    std::exit(app.exit(e));
  }
  return o;
}

/// Restarts this program with one BLAS thread. OpenBLAS starts its threads when it is loaded, and each allocates 128
/// MiB at an unpredictable moment, which a memory limit could not tell from a model.
void have_one_blas_thread(char** argv) {
  char const* const threads = std::getenv("OPENBLAS_NUM_THREADS");
  if (threads == nullptr || std::string_view(threads) != "1") {
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
    throw std::system_error(errno, std::generic_category(),
                            "cannot start again with OPENBLAS_NUM_THREADS=1; set it yourself");
  }
}

tutti::nn::data_pair load(options const& o) {
  if (o.data != "builtin") {
    return tutti::nn::read_folder(o.data);
  }
  return {tutti::nn::digits(o.samples, o.seed), tutti::nn::digits(2560, o.seed, 1U << 20)};
}

reports train(job const& work) {
  if (work.options.parallelism == "pipeline") {
    return train_pipeline(work);
  }
  if (work.options.parallelism == "data") {
    return train_data_parallel(work);
  }
  return work.options.parallelism == "tensor" ? train_tensor_parallel(work) : train_spatial(work);
}

/// Prints why ranks failed: the original failures, without ranks that only lost a peer. True if any failed.
bool report_failures(reports const& ranks) {
  auto const is_original = [](auto const& rank) {
    return !rank.has_value() && rank.failure().kind == tutti::failure::none;
  };
  bool const has_original = std::ranges::any_of(ranks, is_original);
  bool has_failure = false;
  for (std::size_t r = 0; r != ranks.size(); ++r) {
    if (!ranks[r].has_value()) {
      has_failure = true;
      if (is_original(ranks[r]) || !has_original) {
        std::fprintf(stderr, "model_parallel: rank %zu: %s\n", r, ranks[r].failure().text.c_str());
      }
    }
  }
  return has_failure;
}

void show(options const& o, reports& ranks) {
  std::printf("\n  parameters      memory  sent a step%s\n", o.parallelism == "pipeline" ? "   waited" : "");
  for (std::size_t r = 0; r != ranks.size(); ++r) {
    part_report const part = ranks[r].value();
    std::printf("%12zu %7.1f MiB %8.3f MiB", part.parameters, static_cast<double>(part.bytes) / (1 << 20),
                part.sent_bytes / (1 << 20));
    if (o.parallelism == "pipeline") {
      std::printf("  %5.1f %%", 100 * part.waiting_seconds / part.seconds);
    }
    std::printf("  rank %zu\n", r);
  }
  if (o.parallelism == "pipeline") {
    auto const stages = static_cast<double>(o.ranks);
    std::printf("a pipeline of equal stages stands still for %.1f %% of the time\n",
                100 * (stages - 1) / (static_cast<double>(o.micro_batches) + stages - 1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  job work{read_options(argc, argv), {}};
  auto const& options = work.options;
  try {
    have_one_blas_thread(argv);
    work.data = load(options);
    auto const smaller_size = std::min(work.data.training.size(), work.data.test.size());
    tutti::expects(options.batch <= smaller_size && work.data.training.shape.channels == 1,
                   "--batch must be at most the number of images, which must be grey");
    std::printf("%s, %u ranks, ", options.parallelism.c_str(), options.ranks);
    if (options.memory != 0) {
      std::printf("%zu MiB each, ", options.memory);
    }
    std::printf("batch %zu of %zu images\n", options.batch, work.data.training.size());
    std::fflush(stdout);  // forked ranks would inherit unwritten output
    auto ranks = train(work);
    if (report_failures(ranks)) {
      return EXIT_FAILURE;
    }
    show(options, ranks);
    return EXIT_SUCCESS;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "model_parallel: %s\n", e.what());
    return EXIT_FAILURE;
  }
}
