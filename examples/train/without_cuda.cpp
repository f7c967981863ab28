// SPDX-License-Identifier: Apache-2.0
#include "gpu.hpp"
#include "trained_replica.hpp"
#include <tutti/nn/model.hpp>

#include <utility>

// In place of cuda.cpp, where tutti::nn_cuda is not available.
cards_here find_cards() {
  return {0,
          "tutti::nn_cuda was not available when its program was built, for want of CUDA 13, nvcc or cuDNN 9; CMake "
          "says which: install it and build again, or leave the rank out of --gpu"};
}

trained_replica::made_of made_for(std::vector<tutti::nn::any_layer<float>> layers, card, tutti::nn::precision) {
  return trained_replica::made_of(std::move(layers), trained_replica::attached);
}
