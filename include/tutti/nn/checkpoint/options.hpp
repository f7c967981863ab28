// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <filesystem>

namespace tutti::inline v0_1_0::nn {

/// Where a training keeps checkpoints, and how many.
struct checkpoint_options {
  std::filesystem::path folder;  ///< where checkpoints are written
  std::size_t every = 0;         ///< steps; 0: after each epoch, and always after the last
  std::size_t keep = 2;          ///< how many of the last ones stay
  bool sharded = false;  ///< each rank writes its part, into a folder that all ranks see; or else rank 0 writes all
  bool resume = false;   ///< goes on from the last good one, if there is one
};

}  // namespace tutti::nn
