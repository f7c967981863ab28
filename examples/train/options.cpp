// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "averaging_options.hpp"
#include "checkpoint_options.hpp"
#include "compression_options.hpp"
#include "report_options.hpp"
#include "strategy_options.hpp"
#include "training_options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <iterator>

namespace {

/// "256,128" as numbers; "none" as no hidden layer.
std::vector<std::size_t> read_hidden(std::string const& text) {
  std::vector<std::size_t> sizes;
  if (text == "none") {
    return sizes;
  }
  char const* at = text.data();
  char const* const end = at + text.size();
  while (true) {
    std::size_t size = 0;
    auto const [next, problem] = std::from_chars(at, end, size);
    if (problem != std::errc{} || size == 0 || size > 100000 || (next != end && *next != ',')) {
      throw CLI::ValidationError("--hidden",
                                 "takes the sizes of the hidden layers, such as 256,128, each from 1 to "
                                 "100000, or none; \"" +
                                     text + "\" is something else");
    }
    sizes.push_back(size);
    if (next == end) {
      return sizes;
    }
    at = next + 1;
  }
}

/// @throws CLI::ValidationError for what only replicas that stay equal can do
void check_combinations(options const& o) {
  auto const synchronous_only = [&](bool asked, char const* option) {
    if (asked && o.strategy.name != "synchronous") {
      throw CLI::ValidationError(option, "goes with --strategy synchronous, not with " + o.strategy.name);
    }
  };
  synchronous_only(o.compress.kind != "none", "--compress");
  synchronous_only(o.bucket != 0, "--bucket");
  synchronous_only(o.settings.reproducible, "--reproducible");
  synchronous_only(o.faults.go_on, "--on-fault continue");
  auto const without_servers = [&](bool asked, char const* option) {
    if (asked && o.strategy.name == "parameter_server") {
      throw CLI::ValidationError(option, "goes with every --strategy but parameter_server");
    }
  };
  without_servers(o.checkpoints.every != 0, "--checkpoint-every");
  without_servers(o.checkpoints.sharded, "--sharded-checkpoints");
  without_servers(!o.faults.deaths.empty(), "--die");
  if (o.settings.reproducible && o.compress.kind != "none") {
    throw CLI::ValidationError("--reproducible", "goes with --compress none: accumulators travel whole");
  }
  if (o.settings.reproducible && o.settings.images != tutti::nn::ownership::shared) {
    throw CLI::ValidationError("--reproducible",
                               "goes with --shards shared: images of a rank's own depend on the ranks");
  }
  if (o.faults.go_on && o.compress.kind != "none") {
    throw CLI::ValidationError("--on-fault continue",
                               "goes with --compress none: what a dead rank still owed would be lost");
  }
}

/// Of all options, a line each, those that say what is to be computed: files may be elsewhere on another host.
std::string lines_in_common(std::string const& all) {
  constexpr std::string_view own[] = {
      "ranks=", "data=", "threads-per-rank=", "checkpoint=", "plot=", "report=", "metrics="};
  std::string kept;
  for (std::size_t at = 0; at < all.size();) {
    std::size_t const end = std::min(all.find('\n', at), all.size());
    std::string_view const line = std::string_view(all).substr(at, end - at);
    if (std::none_of(std::begin(own), std::end(own), [&](auto name) { return line.starts_with(name); })) {
      kept.append(line).append("\n");
    }
    at = end + 1;
  }
  return kept;
}

}  // namespace

options read_options(int argc, char** argv) {
  options o;
  std::string hidden = "256,128";
  CLI::App app{
      "Trains a network to recognise images, on several ranks at once: each computes the gradient of its\n"
      "part of a batch, an allreduce adds them up, and all weights stay equal, bit for bit; or, with\n"
      "another --strategy, they make steps of their own and average weights."};
  app.footer(
      "Examples:\n"
      "  train                                              built-in digits, 4 threads, ring\n"
      "  train --data mnist --plot training.svg             the four files of MNIST in the folder mnist\n"
      "  train --model lenet5 --data mnist                  a convolutional network\n"
      "  train --transport tcp --topology binary_tree       4 processes that talk over sockets\n"
      "  mpirun -n 4 train --transport tcp                  under a launcher, on one host or several\n"
      "\n"
      "Under a launcher (torchrun, Open MPI, MPICH, Slurm, or TUTTI_RANK, TUTTI_SIZE and\n"
      "TUTTI_MASTER_ADDR) the process joins the launcher's world instead of starting one.");
  app.option_defaults()->always_capture_default();

  auto* const ranks = app.add_option("--ranks", o.ranks, "How many ranks to start")->check(CLI::Range(1U, 1024U));
  app.add_option("--transport", o.transport,
                 "How they talk: loopback (threads), shared_memory or tcp (processes); "
                 "loopback unless a launcher started this process, then tcp")
      ->check(CLI::IsMember({"loopback", "shared_memory", "tcp"}));
  auto* const topology =
      app.add_option("--topology", o.topology, "Who talks to whom, and when; automatic measures, tries and picks")
          ->check(CLI::IsMember(
              {"ring", "chain", "binary_tree", "double_tree", "doubling", "butterfly", "star", "direct", "automatic"}));

  app.add_option("--data", o.data,
                 "A folder with MNIST's four files or batches of CIFAR-10, plain or .gz; or builtin, drawn digits");
  auto* const samples = app.add_option("--samples", o.samples, "Training images to draw, with --data builtin")
                            ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}));
  app.add_option("--model", o.model, "What to train")->check(CLI::IsMember({"mlp", "lenet5", "cnn", "resnet20"}));
  app.add_option("--hidden", hidden, "Sizes of the mlp's hidden layers, or none for a linear model");
  app.add_option("--activation", o.activation, "Of the mlp's hidden layers")
      ->check(CLI::IsMember({"relu", "tanh", "sigmoid"}));

  auto& s = o.settings;
  app.add_option("--epochs", s.epochs, "Passes over the training set")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}));
  auto* const batch = app.add_option("--batch", s.batch, "Images in one step, divided among the ranks")
                          ->check(CLI::Range(std::size_t{1}, std::size_t{10'000'000}));
  app.add_option("--batch-per-rank", o.batch_per_rank, "Instead: images of each rank in one step, times the ranks")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000'000}))
      ->excludes(batch)
      ->default_str("");
  app.add_option("--lr", s.rate, "Learning rate of the first step")->check(CLI::Range(0.0, 1e6));
  app.add_option("--lr-end", s.last_rate, "Learning rate of the last step, if --schedule is linear or cosine")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--momentum", s.momentum, "Share of the last step that is repeated")->check(CLI::Range(0.0, 0.9999));
  app.add_flag("--synchronised-statistics", s.synchronised_statistics,
               "Batch normalisation over the batch of all ranks, instead of each rank's part");
  app.add_option("--seed", s.seed, "Of the initial weights, the order of images and the built-in digits");
  app.add_option("--threads-per-rank", o.threads, "Threads that compute in each rank")->check(CLI::Range(1, 1024));

  app.add_option("--bucket", o.bucket,
                 "Gradients are summed in parts of so many bytes, such as 1M, each as soon as it is complete, while "
                 "others are computed; or all at the end of a step")
      ->transform(CLI::AsSizeValue(false))
      ->check((CLI::Range(0, 0) | CLI::Range(1024, 1 << 30)).description("0, or 1K to 1024M"))
      ->default_str("");

  app.add_flag("--progress-thread", o.progress_thread,
               "With --bucket: a thread of each rank moves the sums on, for cores to spare")
      ->default_str("");

  compression_options compressed(app, o.compress);
  training_options training(app, s);
  add_checkpoint_options(app, o.checkpoints);
  strategy_options strategy(app, o.strategy);
  averaging_options averaged(app, o.averaging, s);
  fault_reader faults(app, o.faults);

  add_report_options(app, o);
  app.set_config("--config", "", "Read options from a file: a line each, such as epochs=10; the command line wins");
  app.allow_config_extras(CLI::config_extras_mode::error);  // a typing error is not a default

  try {
    app.parse(argc, argv);
    o.hidden = read_hidden(hidden);
    training.finish();
    faults.finish();
    compressed.finish(o, topology->count() != 0);
    strategy.finish();
    averaged.finish(o.strategy);
    if (samples->count() != 0 && o.data != "builtin") {
      throw CLI::ValidationError("--samples", "says how many images to draw with --data builtin; of the folder " +
                                                  o.data + " all are used, so leave it out");
    }
    check_report_options(o);
    check_combinations(o);
    if (o.progress_thread && s.reproducible) {
      throw CLI::ValidationError("--progress-thread", "moves plain sums on, not those of --reproducible");
    }
    if (o.progress_thread && o.bucket == 0) {
      throw CLI::ValidationError("--progress-thread", "needs --bucket, which says what there is to move on");
    }
  } catch (CLI::ParseError const& e) {
    std::exit(app.exit(e) == 0 ? EXIT_SUCCESS : 2);
  }
  o.ranks_given = ranks->count() != 0;
  o.in_common = lines_in_common(app.config_to_str(true, false));
  return o;
}
