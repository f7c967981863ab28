// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

namespace tutti::inline v0_1_0::nn {

/// The checkpoints of a training: place, interval and number.
struct checkpoint_options {
  std::filesystem::path folder;  ///< folder of the checkpoints
  /// Steps between checkpoints; 0: after each epoch. The last epoch always ends with one.
  std::size_t interval = 0;
  std::size_t keep = 2;  ///< number of the latest checkpoints that are kept
  /// True: each rank writes a part, into a folder visible to all; false: rank 0 writes everything.
  bool is_sharded = false;
  bool resume = false;  ///< true: continue from the last intact checkpoint, if there is one
  /// Encoded description of the model (`encode`), so that `read_checkpoint` needs the folder only; may be empty.
  std::string model = {};
  /// A number that asks the training to stop if it is not 0, on any rank; a signal handler may set it. All ranks then
  /// save a checkpoint after the same step, and throw `training_stopped`. Null: no rank looks.
  std::atomic<int> const* stop = nullptr;
  /// Is called on rank 0 when a checkpoint is complete, and may read it (`read_checkpoint`); may be empty. It delays
  /// the next step, and must not throw.
  std::function<void()> after_save = {};
};

}  // namespace tutti::nn
