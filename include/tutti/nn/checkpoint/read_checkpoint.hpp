// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/base/training_position.hpp>
#include <tutti/nn/saved_model/base/description.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// A training as its last checkpoint holds it, without the state that only resuming needs.
struct saved_training {
  model_description model;         ///< description of the model
  std::vector<float> parameters;   ///< weights; if each rank has its own, their mean, as at the training's end
  std::vector<float> statistics;   ///< statistics of the layers: the mean of all ranks'
  training_position place;         ///< position in the training
  std::uint64_t step = 0;          ///< number of steps so far
  rank_type ranks = 1;             ///< number of ranks
  std::string settings;            ///< description of the training, line by line (`fingerprint`)
  history results;                 ///< steps, epochs and faults so far
  std::filesystem::path file;      ///< file of the checkpoint
  std::vector<std::string> notes;  ///< defects of later checkpoints
};

/// Reads the last intact checkpoint in a folder: one file or parts of the ranks. Changes nothing there, so a training
/// may be using the folder.
/// @throws checkpoint_error if none is intact, or it does not describe its model (`checkpoint_options::model`)
[[nodiscard]] TUTTI_DECL saved_training read_checkpoint(std::filesystem::path const& folder);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/checkpoint/read_checkpoint.ipp>
#endif
