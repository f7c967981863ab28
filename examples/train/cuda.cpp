// SPDX-License-Identifier: Apache-2.0
#include "gpu.hpp"
#include "trained_replica.hpp"
#include <tutti/cuda/devices.hpp>
#include <tutti/cuda/error.hpp>
#include <tutti/nn/cuda/device_model.hpp>
#include <tutti/nn/model.hpp>

#include <utility>

cards_here find_cards() {
  try {
    return {tutti::cuda::devices(), "CUDA counts no cards on its host"};
  } catch (tutti::cuda::error const& e) {
    return {0, e.what()};
  }
}

trained_replica::made_of made_for(std::vector<tutti::nn::any_layer<float>> layers, card on,
                                  tutti::nn::precision numbers) {
  if (on) {
    return tutti::nn::device_model{std::move(layers), numbers, *on};
  }
  return tutti::nn::model<float>(std::move(layers), trained_replica::attached);
}
