// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn::parameter_server {

/// A part of the loss that depends only on the weights, l1 |w|, which draws weights to zero. Only the servers need
/// it: they add its subgradient to the sum of the workers' gradients, like the servers of algorithm 1 of Li et al.
/// 2014. The squared norm is the optimizer's weight decay, which is applied in the same place.
struct regulariser {
  float l1 = 0;  ///< the weight of the sum of magnitudes

  /// Adds the subgradient to the gradients.
  void add_to(std::span<float> gradients, std::span<float const> weights) const noexcept {
    if (l1 == 0.0F) {
      return;
    }
    for (std::size_t i = 0; i != gradients.size(); ++i) {
      gradients[i] += weights[i] > 0 ? l1 : weights[i] < 0 ? -l1 : 0.0F;
    }
  }
};

}  // namespace tutti::nn::parameter_server
