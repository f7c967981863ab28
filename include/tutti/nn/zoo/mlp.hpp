// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/dropout.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace tutti::inline v0_1_0::nn {

/// The activation of hidden layers, chosen at run time.
enum class hidden_activation { relu, tanh, sigmoid };

/// The word for the activation in options and reports.
[[nodiscard]] constexpr std::string_view name(hidden_activation a) noexcept {
  constexpr std::string_view names[] = {"relu", "tanh", "sigmoid"};
  return names[static_cast<std::size_t>(a)];
}

/// A multilayer perceptron: dense hidden layers of the given sizes, and a last dense layer with one output per class,
/// for softmax_cross_entropy. Without hidden layers it is a linear classifier.
/// @param dropout_probability the probability with which a hidden layer's output is dropped
template <class T>
[[nodiscard]] layer_list<T> mlp(std::size_t inputs, std::span<std::size_t const> hidden_sizes, std::size_t classes,
                                hidden_activation activation, double dropout_probability = 0) {
  layer_list<T> layers;
  for (std::size_t const size : hidden_sizes) {
    switch (activation) {
      case hidden_activation::relu:
        layers.push_back(dense<T, relu>(inputs, size));
        break;
      case hidden_activation::tanh:
        layers.push_back(dense<T, tanh>(inputs, size));
        break;
      case hidden_activation::sigmoid:
        layers.push_back(dense<T, sigmoid>(inputs, size));
        break;
    }
    if (dropout_probability != 0) {
      layers.push_back(dropout<T>(size, dropout_probability));
    }
    inputs = size;
  }
  layers.push_back(dense<T, identity>(inputs, classes));
  return layers;
}

}  // namespace tutti::nn
