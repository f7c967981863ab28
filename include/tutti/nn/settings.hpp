// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/augmentation.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::nn {

/// What a training is asked to do.
struct settings {
  std::size_t epochs = 5;
  std::size_t batch = 128;   ///< samples in one step, all ranks together
  float rate = 0.1F;         ///< learning rate of the first step
  float last_rate = 0.001F;  ///< of the last one; linear between
  float momentum = 0.9F;
  std::uint64_t seed = 1;  ///< of the initial weights, of the order of samples and of how they are changed

  std::size_t micro_batch = 0;    ///< most samples that a rank computes at a time; 0: all of its part of a batch
  any_augmentation augmentation;  ///< how training images are changed
  bool standardise = false;       ///< channels with mean 0 and deviation 1; or else bytes as 0 to 1
  bool prefetch = false;          ///< a thread of each rank makes the next batch's images ready
};

}  // namespace tutti::nn
