// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/zoo/stack.hpp>

namespace tutti::inline v0_1_0::nn {

/// A small convolutional network: two convolutions of 32 and 64 channels, each followed by max-pooling of 2 x 2, then
/// 128 units and dropout with this probability.
template <class T>
[[nodiscard]] layer_list<T> cnn(image_shape const& image, std::size_t classes, double dropout_probability = 0.5) {
  stack<T> layers(image);
  layers.add_input();
  for (std::size_t const channels : {std::size_t{32}, std::size_t{64}}) {
    layers.template add<conv2d<T, relu>>(convolution{channels, {3, 1, 1}});
    layers.template add<max_pool<T>>(window{2, 2});
  }
  layers.template add_dense<relu>(128).add_dropout(dropout_probability).template add_dense<identity>(classes);
  return layers.take();
}

}  // namespace tutti::nn
