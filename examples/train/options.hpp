// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/neighbours.hpp>
#include <tutti/nn/base/precision.hpp>
#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/checkpoint/options.hpp>
#include <tutti/nn/simulation/simulated_speed.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

/// The strategy by which ranks cooperate, with its settings.
struct strategy_choice {
  static constexpr std::uint64_t no_bound = UINT64_MAX;

  std::string name = "synchronous";
  std::uint64_t staleness = 0;  ///< steps; for parameter_server and gossip

  // For parameter_server:
  std::uint32_t servers = 1;
  bool server_sends = false;
  float l1 = 0;

  /// True if ranks have weights of their own between steps.
  [[nodiscard]] bool replicas_differ() const { return name == "local_sgd" || name == "gossip" || name == "federated"; }
  /// True if that rank is a server, which computes no gradients.
  [[nodiscard]] bool serves(std::uint32_t rank) const { return name == "parameter_server" && rank < servers; }
};

/// Settings of strategies whose replicas differ between steps.
struct averaging {
  std::size_t interval = 8;  ///< steps; for local_sgd
  tutti::nn::neighbours graph = tutti::nn::neighbours::ring;
  double participation = 1;
  std::size_t local_epochs = 1;
};

/// Settings of gradient compression.
struct compression {
  std::string kind = "none";
  double keep = 0.01;
  float threshold = 0.001F;
  double warm_up = 0;  ///< epochs
  bool momentum_correction = false;
  bool momentum_masking = false;
  float local_clipping = std::numeric_limits<float>::infinity();
};

/// Settings of gradient summation.
struct summing {
  std::string kind = "float";
  float factor = 1e6F;          ///< scale for fixed_point
  std::size_t block = 256;      ///< numbers of a block for shared_exponents
  bool has_shadow_sum = false;  ///< compares sums with sums in double
};

/// Behaviour when ranks fail, processes that enter, and the ranks that are made to fail.
struct fault_options {
  struct death {
    std::uint32_t rank = 0;
    std::size_t step = 0;
  };

  bool continues = false;
  std::uint32_t max_ranks = 0;  ///< processes may enter, up to this number of ranks; 0: none
  bool enters = false;          ///< this process enters a running training
  std::vector<death> deaths;
};

/// Simulated speed of ranks.
struct speeds {
  struct slow_rank {
    std::uint32_t rank = 0;
    double factor = 1;
  };

  std::vector<slow_rank> slow;
  double max_random_factor = 1;  ///< upper bound of the factor drawn for each gradient of any rank
  double seconds = 0;            ///< simulated time of a step; 0: it is computed
  double images_a_second = 0;    ///< simulated speed, instead of `seconds`
  std::size_t side = 0;          ///< rows and columns of simulated images, for large models

  [[nodiscard]] bool is_simulated() const noexcept { return seconds > 0 || images_a_second > 0; }
  /// @param images number of images of a rank in a step
  [[nodiscard]] tutti::nn::simulated_speed speed_of(std::uint32_t rank, double images) const;
};

/// The ranks that compute on GPUs, and the numbers they compute with.
struct gpu_options {
  struct gpu_rank {
    std::uint32_t rank = 0;
    std::optional<std::uint32_t> gpu_index;  ///< nullopt: the cards of a host in turns
  };

  bool on_all_ranks = false;
  std::vector<gpu_rank> gpu_ranks;
  tutti::nn::precision numbers = tutti::nn::precision::float32;

  [[nodiscard]] bool is_used() const noexcept { return on_all_ranks || !gpu_ranks.empty(); }
  [[nodiscard]] bool has(std::uint32_t rank) const;
  /// The card that the options name for this rank.
  [[nodiscard]] std::optional<std::uint32_t> gpu_index_of(std::uint32_t rank) const;
};

/// Options of the command line.
struct options {
  std::uint32_t ranks = 4;
  bool ranks_given = false;
  std::string transport;  ///< empty: loopback, or tcp under a launcher
  std::string topology = "ring";
  std::uint32_t ranks_per_host = 0;  ///< for by_locality; 0: all ranks of a host
  std::string device;                ///< host:port of fpga_nic; empty: set by the environment
  std::string data = "builtin";
  std::size_t image_size = 32;      ///< rows and columns of images made from pictures
  double validation = 0;            ///< share of images for the test, where there is no test set; 0: not given
  std::size_t samples = 20000;      ///< number of built-in training digits
  std::size_t test_samples = 5000;  ///< number of built-in test digits
  std::string model = "mlp";
  std::vector<std::size_t> hidden_sizes{256, 128};
  std::string activation = "relu";
  std::string weights;             ///< file of initial weights; empty: they are drawn
  double dropout = -1;             ///< probability; below 0: the model's own
  std::size_t batch_per_rank = 0;  ///< 0: settings.batch is the batch of all ranks
  int threads = 1;
  std::size_t bucket = 0;  ///< bytes; 0: gradients are summed once all are complete
  bool progress_thread = false;
  compression compress;
  summing sums;
  tutti::nn::checkpoint_options checkpoints;
  fault_options faults;
  struct speeds speeds;
  gpu_options gpus;
  std::string saved_model;  ///< file for the trained model; empty: none
  std::string plot;
  std::string report;
  std::string metrics;
  std::string usage;
  std::string trace;
  std::size_t trace_events = 100'000;
  std::string recipe;  ///< name of the recipe; empty: none
  // Words that `read_options` turns into settings:
  std::string augment = "none";
  std::string neighbours = "ring";
  std::string on_fault = "stop";
  strategy_choice strategy;
  struct averaging averaging;
  tutti::nn::settings settings;
  std::string in_common;  ///< options that must be equal on all ranks, a line each
};

/// @throws std::runtime_error if an option names a rank beyond these
void expect_ranks(options const& options, std::uint32_t ranks);

/// Reads the command line of `train run`. Exits the program after --help, and with a message after a mistake.
options read_options(int argc, char** argv);
