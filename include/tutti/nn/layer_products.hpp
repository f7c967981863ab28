// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/gradient_sizes.hpp>

#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The multiplications that forward takes for an image, of each layer that `gradient_sizes` names: each parameter is
/// used once for each pixel of what the layer gives. Backward takes about twice as many.
template <class T>
[[nodiscard]] std::vector<double> layer_products(layer_list<T> const& layers) {
  std::vector<double> products;
  for (layer<T> const* const one : detail::learning_parts(layers)) {
    products.push_back(static_cast<double>(one->parameters()) * static_cast<double>(one->pixels()));
  }
  return products;
}

}  // namespace tutti::nn
