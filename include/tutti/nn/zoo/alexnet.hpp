// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/zoo/stack.hpp>

namespace tutti::inline v0_1_0::nn {

/// AlexNet (Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep convolutional neural networks", NIPS
/// 2012), with its groups, without its local response normalisation, which has no parameters: 60,965,224 parameters
/// for 224 x 224 and 1000 classes. The variant for small images has smaller maps and one dense layer, 2,472,266
/// parameters for CIFAR-10.
template <class T>
[[nodiscard]] layer_list<T> alexnet(image_shape const& image, std::size_t classes) {
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
    return layers.template add_dense<identity>(classes).take();
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
    layers.add_dropout(0.5).template add_dense<relu>(4096);
  }
  return layers.template add_dense<identity>(classes).take();
}

}  // namespace tutti::nn
