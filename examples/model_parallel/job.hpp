// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/outcome.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Options of the command line.
struct options {
  std::string parallelism = "tensor";
  tutti::rank_type ranks = 4;
  std::size_t memory = 64;  // MiB for each rank; 0: no limit
  std::string data = "builtin";
  std::size_t samples = 10'000;
  std::size_t epochs = 3;
  std::size_t batch = 256;
  float rate = 0.05F;
  std::size_t width = 1024;
  std::size_t depth = 7;
  std::size_t micro_batches = 8;
  std::string schedule = "1f1b";
  std::string model = "dense";
  std::uint64_t seed = 1;
};

struct job {
  struct options options;
  tutti::nn::data_pair data;
};

/// Results of one rank. A plain value, because ranks are processes.
struct part_report {
  std::size_t parameters;
  std::size_t bytes;       // memory that training took
  double seconds;          // time of all training steps
  double waiting_seconds;  // time spent on other ranks within `seconds`; 0 where the model does not count it
  double accuracy;
  double sent_bytes;  // bytes sent in a training step
};

using reports = std::vector<tutti::outcome<part_report>>;

// Ways to train, each in a file of its own.
reports train_data_parallel(job const& work);
reports train_tensor_parallel(job const& work);
reports train_pipeline(job const& work);
reports train_spatial(job const& work);
