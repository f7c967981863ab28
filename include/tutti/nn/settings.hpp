// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  std::uint64_t seed = 1;  ///< of the initial weights and of the order of samples
};

}  // namespace tutti::nn
