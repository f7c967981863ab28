// SPDX-License-Identifier: Apache-2.0
#include "gpu.hpp"
#include "learner_on_gpu.hpp"

#include <memory>
#include <stdexcept>

namespace nn = tutti::nn;

// In place of cuda.cpp, where tutti::nn_cuda is not available.
host_gpus find_gpus() {
  return {0,
          "tutti::nn_cuda was not available when its program was built, for want of CUDA 13, nvcc or cuDNN 9; CMake "
          "says which: install it and build again, or leave the rank out of --gpu"};
}

std::unique_ptr<nn::learner> learner_on_gpu(nn::device_model, nn::settings const&) {
  throw std::logic_error("train: there are no cards");  // no rank has one where find_cards() counts none
}
