// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/zoo/stack.hpp>

#include <array>

namespace tutti::inline v0_1_0::nn {

namespace detail {

/// Adds a block with this body. The shortcut between images of different shapes is a projection.
template <class T>
void add_block(stack<T>& layers, stack<T> body, std::size_t stride) {
  stack<T> shortcut(layers.shape());
  if (body.shape() != layers.shape()) {
    shortcut.template add_normalised<identity>(body.shape().channels, {1, stride});
  }
  auto const output_shape = body.shape();
  layers.add_residual(body.take(), shortcut.take(), output_shape);
}

template <class T>
void add_basic_block(stack<T>& layers, std::size_t channels, std::size_t stride) {
  stack<T> body(layers.shape());
  body.template add_normalised<relu>(channels, {3, stride, 1});
  body.template add_normalised<identity>(channels, {3, 1, 1});
  add_block(layers, std::move(body), stride);
}

/// Adds a bottleneck block. The middle convolution has the stride, as in every implementation that reports accuracies
/// today.
template <class T>
void add_bottleneck(stack<T>& layers, std::size_t channels, std::size_t stride) {
  stack<T> body(layers.shape());
  body.template add_normalised<relu>(channels, {1});
  body.template add_normalised<relu>(channels, {3, stride, 1});
  body.template add_normalised<identity>(4 * channels, {1});
  add_block(layers, std::move(body), stride);
}

}  // namespace detail

/// ResNet (He, Zhang, Ren, Sun, "Deep residual learning for image recognition", CVPR 2016): 25,557,032 parameters
/// with 50 layers, 44,549,160 with 101 and 60,192,808 with 152, for 224 x 224 and 1000 classes. With 200 layers the
/// depth is that of the same authors' "Identity mappings in deep residual networks", ECCV 2016, with the blocks of
/// the others: 64,673,832. For small images the first layer is a 3 x 3 convolution, which keeps their size.
/// @param dropout_probability the probability with which an input of the dense layer is dropped
/// @pre depth is 50, 101, 152 or 200
template <class T>
[[nodiscard]] layer_list<T> resnet(std::size_t depth, image_shape const& image, std::size_t classes,
                                   double dropout_probability = 0) {
  expects(depth == 50 || depth == 101 || depth == 152 || depth == 200,
          "resnet: the depth must be 50, 101, 152 or 200, not ", depth);
  std::array<std::size_t, 4> const blocks{3,
                                          depth == 200   ? std::size_t{24}
                                          : depth == 152 ? std::size_t{8}
                                                         : std::size_t{4},
                                          depth == 50    ? std::size_t{6}
                                          : depth == 101 ? std::size_t{23}
                                                         : std::size_t{36},
                                          3};
  stack<T> layers(image);
  layers.add_input();
  if (image.rows <= small_image) {
    layers.template add_normalised<relu>(64, {3, 1, 1});
  } else {
    layers.template add_normalised<relu>(64, {7, 2, 3});
    layers.template add<max_pool<T>>(window{3, 2, 1});
  }
  for (std::size_t stage = 0; stage != blocks.size(); ++stage) {
    for (std::size_t i = 0; i != blocks[stage]; ++i) {
      detail::add_bottleneck(layers, std::size_t{64} << stage, i == 0 && stage != 0 ? 2 : 1);
    }
  }
  return layers.add_mean().add_dropout(dropout_probability).template add_dense<identity>(classes).take();
}

/// The networks of He et al. (CVPR 2016) for CIFAR-10, with 6 n + 2 layers in three stages of 16, 32 and 64 channels,
/// and projections where the size changes: 272,474 parameters with 20 layers.
/// @param dropout_probability the probability with which an input of the dense layer is dropped
/// @pre depth = 6 n + 2, n > 0
template <class T>
[[nodiscard]] layer_list<T> small_resnet(std::size_t depth, image_shape const& image, std::size_t classes,
                                         double dropout_probability = 0) {
  expects(depth > 2 && depth % 6 == 2, "small_resnet: the depth must be 6 n + 2, such as 20, not ", depth);
  stack<T> layers(image);
  layers.add_input();
  layers.template add_normalised<relu>(16, {3, 1, 1});
  for (std::size_t stage = 0; stage != 3; ++stage) {
    for (std::size_t i = 0; i != (depth - 2) / 6; ++i) {
      detail::add_basic_block(layers, std::size_t{16} << stage, i == 0 && stage != 0 ? 2 : 1);
    }
  }
  return layers.add_mean().add_dropout(dropout_probability).template add_dense<identity>(classes).take();
}

}  // namespace tutti::nn
