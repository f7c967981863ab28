// SPDX-License-Identifier: Apache-2.0
#include "gpu.hpp"
#include "learner_on_gpu.hpp"
#include <tutti/cuda/devices.hpp>
#include <tutti/cuda/error.hpp>
#include <tutti/nn/cuda/replica.hpp>

#include <memory>
#include <utility>

namespace nn = tutti::nn;

host_gpus find_gpus() {
  try {
    return {tutti::cuda::devices(), "CUDA counts no cards on its host"};
  } catch (tutti::cuda::error const& e) {
    return {0, e.what()};
  }
}

std::unique_ptr<nn::learner> learner_on_gpu(nn::device_model model, nn::settings const& settings) {
  return nn::cuda::make_learner(std::move(model), settings);
}
