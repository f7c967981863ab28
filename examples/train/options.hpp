// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "averaging.hpp"
#include "fault_options.hpp"
#include "strategy_choice.hpp"
#include <tutti/nn/checkpoint/options.hpp>
#include <tutti/nn/settings.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

/// In how few bytes gradients travel.
struct compression {
  std::string kind = "none";
  double keep = 0.01;
  float threshold = 0.001F;
  double warm_up = 0;  ///< epochs
  bool momentum_correction = false;
  bool momentum_masking = false;
  float local_clipping = std::numeric_limits<float>::infinity();
};

/// What the command line asks for.
struct options {
  std::uint32_t ranks = 4;
  bool ranks_given = false;
  std::string transport;  ///< empty: loopback, or tcp under a launcher
  std::string topology = "ring";
  std::string data = "builtin";
  std::size_t samples = 20000;  ///< of the built-in digits
  std::string model = "mlp";
  std::vector<std::size_t> hidden{256, 128};
  std::string activation = "relu";
  std::size_t batch_per_rank = 0;  ///< 0: settings.batch is the batch of all ranks
  int threads = 1;
  std::size_t bucket = 0;  ///< bytes; 0: gradients are summed when all are complete
  bool progress_thread = false;
  compression compress;
  tutti::nn::checkpoint_options checkpoints;
  fault_options faults;
  std::string plot;
  std::string report;
  std::string metrics;
  std::string trace;
  std::size_t trace_events = 100'000;
  strategy_choice strategy;
  struct averaging averaging;
  tutti::nn::settings settings;
  std::string in_common;  ///< what all ranks must have been asked for alike, a line for each option
};

/// Reads the command line. Exits the program after --help, and with a message after a mistake.
options read_options(int argc, char** argv);
