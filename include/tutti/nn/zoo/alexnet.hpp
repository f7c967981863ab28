// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/zoo/stack.hpp>

#include <optional>

namespace tutti::inline v0_1_0::nn {

/// AlexNet (Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep convolutional neural networks", NIPS
/// 2012), with its groups, without its local response normalisation, which has no parameters: 60,965,224 parameters
/// for 224 x 224 and 1000 classes. The variant for small images has smaller maps and one dense layer, 2,472,266
/// parameters for CIFAR-10.
/// @param dropout_probability the probability with which an input of a dense layer is dropped, the last one's excepted
/// if there are three; if not given, 0.5 for large images and 0 for small ones
template <class T>
[[nodiscard]] layer_list<T> alexnet(image_shape const& image, std::size_t classes,
                                    std::optional<double> dropout_probability = {}) {
  stack<T> layers(image);
  layers.add_input();
  if (image.rows <= small_image) {
    layers.template add<conv2d<T, relu>>(convolution{64, {11, 4, 5}});
    layers.template add<max_pool<T>>(window{2, 2});
    layers.template add<conv2d<T, relu>>(convolution{192, {5, 1, 2}});
    layers.template add<max_pool<T>>(window{2, 2});
    layers.template add<conv2d<T, relu>>(convolution{384, {3, 1, 1}});
    layers.template add<conv2d<T, relu>>(convolution{256, {3, 1, 1}});
    layers.template add<conv2d<T, relu>>(convolution{256, {3, 1, 1}});
    layers.template add<max_pool<T>>(window{2, 2});
    return layers.add_dropout(dropout_probability.value_or(0)).template add_dense<identity>(classes).take();
  }
  layers.template add<conv2d<T, relu>>(convolution{96, {11, 4, 2}});
  layers.template add<max_pool<T>>(window{3, 2});
  layers.template add<conv2d<T, relu>>(convolution{256, {5, 1, 2}, 2});
  layers.template add<max_pool<T>>(window{3, 2});
  layers.template add<conv2d<T, relu>>(convolution{384, {3, 1, 1}});
  layers.template add<conv2d<T, relu>>(convolution{384, {3, 1, 1}, 2});
  layers.template add<conv2d<T, relu>>(convolution{256, {3, 1, 1}, 2});
  layers.template add<max_pool<T>>(window{3, 2});
  for (int i = 0; i != 2; ++i) {
    layers.add_dropout(dropout_probability.value_or(0.5)).template add_dense<relu>(4096);
  }
  return layers.template add_dense<identity>(classes).take();
}

}  // namespace tutti::nn
