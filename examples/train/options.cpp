// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "network.hpp"
#include "option_rows.hpp"
#include "recipes.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

/// The options that `--help` shows.
constexpr char const* essential_options[] = {"--data",     "--model",      "--recipe", "--epochs",
                                             "--batch",    "--lr",         "--ranks",  "--transport",
                                             "--strategy", "--checkpoint", "--plot",   "--report"};

std::string help(CLI::App const& app, std::vector<option_group> const& groups, std::string const& topic) {
  std::string result;
  if (topic == "all") {
    for (auto const& group : groups) {
      result += describe(app, group) + "\n";
    }
    return result;
  }
  if (!topic.empty()) {
    auto const group = std::ranges::find(groups, topic, &option_group::name);
    if (group == groups.end()) {
      throw CLI::ValidationError("--help", "there is no group " + topic + "; train run --help lists them");
    }
    return describe(app, *group);
  }
  result = "usage: train run [OPTION]...\n\n";
  for (auto const& group : groups) {
    for (auto const& row : group.rows) {
      if (std::ranges::find(essential_options, row.name) != std::end(essential_options)) {
        result += describe(app, row);
      }
    }
  }
  result += "\nMore options, by group: train run --help GROUP; all: train run --help-all\n";
  for (auto const& group : groups) {
    result += "  " + group.name + std::string(25 - group.name.size(), ' ') + group.summary + "\n";
  }
  return result;
}

[[noreturn]] void refuse(char const* option, std::string const& reason) {
  throw CLI::ValidationError(option, reason);
}

/// Chooses the topology that transport and compression imply, if none is given.
void settle_topology(options& o, bool is_given) {
  bool const has_aggregator = o.transport == "fpga_nic" || o.transport == "udp_multicast";
  auto const& kind = o.compress.kind;
  if (!is_given && (has_aggregator || kind != "none")) {
    o.topology = has_aggregator ? "in_network" : "direct";
  }
  if (has_aggregator != (o.topology == "in_network")) {
    refuse("--topology",
           "must be in_network with --transport fpga_nic or udp_multicast, and only there, not " + o.topology);
  }
  bool const sixteen = kind == "fp16" || kind == "bf16";
  if (kind != "none" && o.topology != "direct" && !(sixteen && o.topology == "ring")) {
    refuse("--topology", "must be direct with --compress " + kind +
                             (sixteen ? ", or ring, which rounds at every hop, not " : ", not ") + o.topology);
  }
  o.topology = o.topology == "hierarchical" ? "hosts_ring" : o.topology;
}

/// Turns words into settings.
void settle_words(options& o) {
  auto& s = o.settings;
  o.averaging.graph = o.neighbours == "ring" ? tutti::nn::neighbours::ring : tutti::nn::neighbours::exponential;
  o.faults.continues = o.on_fault == "continue";
  if (o.augment != "none") {
    s.augmentation = tutti::nn::crop_and_flip{o.augment == "flip" ? 0U : 4U, o.augment != "crop"};
  }
  s.momentum_corrected = o.compress.momentum_correction;
  s.micro_batch = s.reproducible && s.micro_batch == 0 ? 16 : s.micro_batch;
  o.speeds.side = o.speeds.is_simulated() && is_large(o.model) && o.speeds.side == 0 ? 224 : o.speeds.side;
}

/// Checks numbers against those of other options.
/// @throws CLI::ValidationError
void check_numbers(options const& o) {
  auto const& s = o.settings;
  auto const epochs = std::to_string(s.epochs);
  if (!s.changes.epochs.empty() && s.changes.epochs.back() >= s.epochs) {
    refuse("--change-at", "must be below --epochs, " + epochs + ", not " + std::to_string(s.changes.epochs.back()));
  }
  if (s.warm_up > 0 && s.warm_up >= static_cast<double>(s.epochs)) {
    refuse("--warmup", "must be below --epochs, " + epochs + ", not " + std::to_string(s.warm_up));
  }
  if (o.strategy.name == "gossip" && o.strategy.staleness > 1000) {
    refuse("--staleness", "must be at most 1000 with gossip, not " + (o.strategy.staleness == strategy_choice::no_bound
                                                                          ? "unbounded"
                                                                          : std::to_string(o.strategy.staleness)));
  }
  if (o.strategy.name == "network_server" && s.momentum != 0) {
    refuse("--strategy", "network_server needs --momentum 0");
  }
  if (o.strategy.name == "network_server" && s.weight_decay != 0 && !s.decays_all) {
    refuse("--weight-decay",
           "needs --decay-all with --strategy network_server, which does not tell biases from weights");
  }
  if (!o.saved_model.empty() && o.strategy.name == "parameter_server" && o.checkpoints.folder.empty()) {
    refuse("--save", "needs --checkpoint with --strategy parameter_server, whose servers have the weights");
  }
  if (o.speeds.side != 0 && !is_large(o.model)) {
    refuse("--side", "needs a model with large images, such as alexnet, not " + o.model);
  }
  for (auto const& entry : o.gpus.gpu_ranks) {
    if (o.strategy.serves(entry.rank)) {
      refuse("--gpu", "names rank " + std::to_string(entry.rank) + ", which is a server; workers are the ranks from " +
                          std::to_string(o.strategy.servers) + " on");
    }
  }
}

/// Sets the rates that suit the optimizer, where none is given.
void settle_rates(CLI::App const& app, tutti::nn::settings& s) {
  if (s.optimizer == tutti::nn::optimizer_kind::adam || s.optimizer == tutti::nn::optimizer_kind::adamw) {
    s.rate = app.count("--lr") == 0 ? 0.001F : s.rate;
    s.last_rate = app.count("--lr-end") == 0 ? s.rate / 100 : s.last_rate;
  }
}

/// Adds the options of the recipe; options that were given win.
void follow_recipe(CLI::App& app, std::vector<option_group> const& groups, std::string const& name) {
  try {
    std::istringstream lines(compatible_lines(app, groups, find_recipe(name).lines));
    app.parse_from_stream(lines);
  } catch (std::invalid_argument const& e) {
    throw CLI::ValidationError("--recipe", e.what());
  }
}

}  // namespace

tutti::nn::simulated_speed speeds::speed_of(std::uint32_t rank, double images) const {
  auto const entry = std::ranges::find(slow, rank, &slow_rank::rank);
  return {.factor = entry == slow.end() ? 1 : entry->factor,
          .seconds_per_image = images_a_second > 0 ? 1 / images_a_second : seconds / images,
          .max_random_factor = max_random_factor};
}

bool gpu_options::has(std::uint32_t rank) const {
  return on_all_ranks || std::ranges::find(gpu_ranks, rank, &gpu_rank::rank) != gpu_ranks.end();
}

std::optional<std::uint32_t> gpu_options::gpu_index_of(std::uint32_t rank) const {
  auto const entry = std::ranges::find(gpu_ranks, rank, &gpu_rank::rank);
  return entry == gpu_ranks.end() ? std::nullopt : entry->gpu_index;
}

void expect_ranks(options const& options, std::uint32_t ranks) {
  auto const expect = [ranks](char const* option, std::uint32_t rank) {
    if (rank >= ranks) {
      throw std::runtime_error(std::string(option) + " names rank " + std::to_string(rank) +
                               ", but the ranks are 0 to " + std::to_string(ranks - 1));
    }
  };
  for (auto const& death : options.faults.deaths) {
    expect("--die", death.rank);
  }
  for (auto const& slow_rank : options.speeds.slow) {
    expect("--slow", slow_rank.rank);
  }
  for (auto const& gpu_rank : options.gpus.gpu_ranks) {
    expect("--gpu", gpu_rank.rank);
  }
}

options read_options(int argc, char** argv) {
  options o;
  auto const groups = options_of_run(o);
  CLI::App app;
  app.set_help_flag();
  std::string topic;
  auto* const asks_help = app.add_option("-h,--help", topic)->expected(0, 1)->configurable(false);
  auto* const asks_all = app.add_flag("--help-all")->configurable(false);
  add_options(app, groups);
  try {
    app.parse(argc, argv);
    if (asks_help->count() + asks_all->count() != 0) {
      std::fputs(help(app, groups, asks_all->count() != 0 ? "all" : topic).c_str(), stdout);
      std::exit(EXIT_SUCCESS);
    }
    if (o.recipe == "list") {
      std::fputs(describe_recipes().c_str(), stdout);
      std::exit(EXIT_SUCCESS);
    }
    if (!o.recipe.empty()) {
      follow_recipe(app, groups, o.recipe);
    }
    check_conditions(app, groups);
    settle_topology(o, app.count("--topology") != 0);
    settle_words(o);
    settle_rates(app, o.settings);
    check_numbers(o);
  } catch (CLI::ParseError const& e) {
    std::fprintf(stderr, "%s\ntrain run --help lists the options.\n", e.what());
    std::exit(2);
  }
  o.ranks_given = app.count("--ranks") != 0;
  o.in_common = lines_in_common(app, groups);
  return o;
}
