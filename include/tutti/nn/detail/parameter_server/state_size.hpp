// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/replica.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// Numbers of a model's weights, optimizer and statistics.
[[nodiscard]] inline std::size_t state_size(replica& model) {
  return model.parameters().size() + model.optimizer_state().size() + model.statistics().size();
}

}  // namespace tutti::nn::parameter_server::detail
