// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/parameter_range.hpp>
#include <tutti/nn/extend/layer_list.hpp>

#include <cstddef>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The total number of parameters of these layers. Descriptions suffice; nothing is allocated.
template <class T>
[[nodiscard]] std::size_t count_parameters(layer_list<T> const& layers) {
  std::size_t count = 0;
  for (auto const& layer : layers) {
    count += layer.parameters();
  }
  return count;
}

namespace detail {

/// The layers that have parameters, in the order of the parameter vector, those inside blocks included.
template <class T>
[[nodiscard]] std::vector<nn::layer<T> const*> learning_parts(layer_list<T> const& layers) {
  std::vector<nn::layer<T> const*> parts;
  for (auto const& layer : layers) {
    layer.list_parts(parts);
  }
  std::erase_if(parts, [](nn::layer<T> const* layer) { return layer->parameters() == 0; });
  return parts;
}

}  // namespace detail

/// The number of gradients of each layer, in the order of the gradient buffer, layers inside blocks included.
/// Backward completes them from the last to the first: they are the messages of one training step.
template <class T>
[[nodiscard]] std::vector<std::size_t> gradient_sizes(layer_list<T> const& layers) {
  std::vector<std::size_t> sizes;
  for (layer<T> const* const layer : detail::learning_parts(layers)) {
    sizes.push_back(layer->parameters());
  }
  return sizes;
}

namespace detail {

/// The range of each of these layers in the parameter vector.
template <class T>
[[nodiscard]] std::vector<parameter_range> gradient_ranges(layer_list<T> const& layers) {
  std::vector<parameter_range> result;
  std::size_t offset = 0;
  for (nn::layer<T> const* const layer : learning_parts(layers)) {
    std::size_t const size = layer->parameters();
    result.push_back({offset, size, size - layer->decayed_parameters()});
    offset += size;
  }
  return result;
}

}  // namespace detail

}  // namespace tutti::nn
