// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/any_layer.hpp>
#include <tutti/nn/parameter_range.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// How many parameters layers have. Descriptions suffice; nothing is allocated.
template <class T>
[[nodiscard]] std::size_t count_parameters(std::vector<any_layer<T>> const& layers) {
  std::size_t count = 0;
  for (auto const& one : layers) {
    count += one.parameters();
  }
  return count;
}

namespace detail {

template <class T>
void add_gradient_sizes(std::span<any_layer<T> const> layers, std::vector<std::size_t>& sizes) {
  for (auto const& one : layers) {
    one.visit([&]<class Layer>(Layer const& l) {
      if constexpr (std::same_as<Layer, residual<T>>) {
        add_gradient_sizes<T>(l.body().layers(), sizes);
        if (l.shortcut()) {
          add_gradient_sizes<T>(l.shortcut()->layers(), sizes);
        }
      } else if (l.parameters() != 0) {
        sizes.push_back(l.parameters());
      }
    });
  }
}

}  // namespace detail

/// The lengths of the parts of a gradient, layer by layer in the order of the vector of gradients, those
/// inside of blocks as well. Backward makes them from the last to the first: as messages, they are the
/// communication of one step of training.
template <class T>
[[nodiscard]] std::vector<std::size_t> gradient_sizes(std::span<any_layer<T> const> layers) {
  std::vector<std::size_t> sizes;
  detail::add_gradient_sizes<T>(layers, sizes);
  return sizes;
}

namespace detail {

/// Where these lie in the vector of all.
template <class T>
[[nodiscard]] std::vector<parameter_range> gradient_ranges(std::span<any_layer<T> const> layers) {
  std::vector<parameter_range> result;
  std::size_t offset = 0;
  for (std::size_t const size : gradient_sizes<T>(layers)) {
    result.push_back({offset, size});
    offset += size;
  }
  return result;
}

}  // namespace detail

}  // namespace tutti::nn
