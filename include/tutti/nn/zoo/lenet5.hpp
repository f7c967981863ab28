// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/zoo/stack.hpp>

namespace tutti::inline v0_1_0::nn {

/// LeNet-5 (LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to document recognition", Proc. IEEE 86,
/// 1998) in its usual form: every map of the third layer depends on all of the second, with rectifiers and
/// max-pooling. 61,706 parameters for 28 x 28 (padded to 32 x 32) and 10 classes.
/// @param dropout_probability the probability with which an input of a dense layer is dropped, the first one's excepted
template <class T>
[[nodiscard]] layer_list<T> lenet5(image_shape const& image, std::size_t classes, double dropout_probability = 0) {
  stack<T> layers(image);
  layers.add_input();
  layers.template add<conv2d<T, relu>>(convolution{6, {5, 1, image.rows < 32 ? std::size_t{2} : std::size_t{0}}});
  layers.template add<max_pool<T>>(window{2, 2});
  layers.template add<conv2d<T, relu>>(convolution{16, {5}});
  layers.template add<max_pool<T>>(window{2, 2});
  for (std::size_t const units : {std::size_t{120}, std::size_t{84}}) {
    layers.template add_dense<relu>(units).add_dropout(dropout_probability);
  }
  return layers.template add_dense<identity>(classes).take();
}

}  // namespace tutti::nn
