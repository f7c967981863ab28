// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/gradient_sizes.hpp>

#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The multiplications of one forward pass for an image, for each layer that `gradient_sizes` lists: every parameter
/// is used once for each pixel of the layer's output. Backward needs about twice as many.
template <class T>
[[nodiscard]] std::vector<double> layer_products(layer_list<T> const& layers) {
  std::vector<double> products;
  for (layer<T> const* const one : detail::learning_parts(layers)) {
    products.push_back(static_cast<double>(one->parameters()) * static_cast<double>(one->pixels()));
  }
  return products;
}

}  // namespace tutti::nn
