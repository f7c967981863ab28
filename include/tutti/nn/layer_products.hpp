// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/any_layer.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

namespace detail {

template <class T>
void add_layer_products(std::span<any_layer<T> const> layers, std::vector<double>& products) {
  for (auto const& one : layers) {
    one.visit([&]<class Layer>(Layer const& l) {
      if constexpr (std::same_as<Layer, residual<T>>) {
        add_layer_products<T>(l.body().layers(), products);
        if (l.shortcut()) {
          add_layer_products<T>(l.shortcut()->layers(), products);
        }
      } else if (l.parameters() != 0) {
        double pixels = 1;
        if constexpr (requires { l.output_shape(); }) {
          pixels = static_cast<double>(l.output_shape().rows * l.output_shape().columns);
        }
        products.push_back(static_cast<double>(l.parameters()) * pixels);
      }
    });
  }
}

}  // namespace detail

/// The multiplications that forward takes for an image, of each layer that `gradient_sizes` names: each parameter is
/// used once for each pixel of what the layer gives. Backward takes about twice as many.
template <class T>
[[nodiscard]] std::vector<double> layer_products(std::span<any_layer<T> const> layers) {
  std::vector<double> products;
  detail::add_layer_products<T>(layers, products);
  return products;
}

}  // namespace tutti::nn
