// SPDX-License-Identifier: Apache-2.0
#include "gpu.hpp"
#include "trained_replica.hpp"
#include <tutti/nn/model.hpp>

#include <stdexcept>
#include <utility>

// In place of cuda.cpp, where tutti::nn_cuda is not available.
void expect_cuda() {
  throw std::runtime_error(
      "--gpu is not in this program: tutti::nn_cuda was not available when it was built, for want of CUDA 13, nvcc or "
      "cuDNN 9; CMake says which: install it and build again, or leave out --gpu");
}

cards_here find_cards() {
  return {0, "this program was built without CUDA"};
}

trained_replica::made_of made_for(std::vector<tutti::nn::any_layer<float>> layers, card, tutti::nn::precision) {
  return trained_replica::made_of(std::move(layers), trained_replica::attached);
}
