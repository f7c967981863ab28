// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/zoo/stack.hpp>

#include <array>
#include <optional>

namespace tutti::inline v0_1_0::nn {

/// VGG (Simonyan, Zisserman, "Very deep convolutional networks for large-scale image recognition", ICLR 2015):
/// 138,357,544 parameters with 16 layers and 143,667,240 with 19, for 224 x 224 and 1000 classes. The variants for
/// small images have batch normalisation and one dense layer: 14,724,042 and 20,035,018 parameters for CIFAR-10.
/// @param dropout_probability the probability with which an input of a dense layer is dropped, the first one's excepted
/// if there are three; if not given, 0.5 for large images and 0 for small ones
/// @pre depth is 16 or 19
template <class T>
[[nodiscard]] layer_list<T> vgg(std::size_t depth, image_shape const& image, std::size_t classes,
                                std::optional<double> dropout_probability = {}) {
  expects(depth == 16 || depth == 19, "vgg: the depth must be 16 or 19, not ", depth);
  bool const is_small = image.rows <= small_image;
  stack<T> layers(image);
  layers.add_input();
  std::size_t const later = depth == 16 ? 3 : 4;
  constexpr std::array<std::size_t, 5> channels{64, 128, 256, 512, 512};
  for (std::size_t stage = 0; stage != channels.size(); ++stage) {
    for (std::size_t i = 0; i != (stage < 2 ? 2 : later); ++i) {
      if (is_small) {
        layers.template add_normalised<relu>(channels[stage], {3, 1, 1});
      } else {
        layers.template add<conv2d<T, relu>>(convolution{channels[stage], {3, 1, 1}});
      }
    }
    layers.template add<max_pool<T>>(window{2, 2});
  }
  if (is_small) {
    layers.add_dropout(dropout_probability.value_or(0));
  } else {
    for (int i = 0; i != 2; ++i) {
      layers.template add_dense<relu>(4096).add_dropout(dropout_probability.value_or(0.5));
    }
  }
  return layers.template add_dense<identity>(classes).take();
}

}  // namespace tutti::nn
