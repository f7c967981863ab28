// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/gradient_sizes.hpp>

#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The multiplications of one forward pass for an image, for each layer that `gradient_sizes` lists: every parameter
/// is used once for each pixel of the layer's output. Backward needs about twice as many.
template <class T>
[[nodiscard]] std::vector<double> layer_multiply_adds(layer_list<T> const& layers) {
  std::vector<double> result;
  for (layer<T> const* const layer : detail::learning_parts(layers)) {
    result.push_back(static_cast<double>(layer->parameters()) * static_cast<double>(layer->pixels()));
  }
  return result;
}

}  // namespace tutti::nn
