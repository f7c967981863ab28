// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/shape.hpp>
#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/channels_last.hpp>
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/dropout.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/layer/residual.hpp>

#include <cstddef>
#include <utility>

namespace tutti::inline v0_1_0::nn {

/// Layers one after another, each for the images that the one before it outputs.
template <class T>
class stack {
 public:
  /// Constructs an empty stack for images of this shape.
  explicit stack(image_shape const& image) : shape_(image) {}

  /// Adds a Layer(image, what...).
  template <class Layer, class... Arguments>
  stack& add(Arguments const&... arguments) {
    Layer layer(shape_, arguments...);
    shape_ = layer.output_shape();
    layers_.push_back(std::move(layer));
    return *this;
  }

  /// Adds a convolution without bias, and batch normalisation.
  template <class Activation>
  stack& add_normalised(std::size_t channels, window const& filter_window) {
    add<conv2d<T>>(convolution{.channels = channels, .filter_window = filter_window, .bias = false});
    return add<batch_norm<T, Activation>>();
  }

  /// Adds a dense layer with this many outputs.
  template <class Activation>
  stack& add_dense(std::size_t outputs) {
    layers_.push_back(dense<T, Activation>(shape_.size(), outputs));
    shape_ = {outputs, 1, 1};
    return *this;
  }

  /// Adds dropout, unless the probability is 0.
  stack& add_dropout(double probability) {
    if (probability != 0) {
      layers_.push_back(dropout<T>(shape_.size(), probability));
    }
    return *this;
  }

  /// Converts images from the order of data sets.
  stack& add_input() { return shape_.channels == 1 ? *this : add<channels_last<T>>(); }

  /// Adds the mean of each channel.
  stack& add_mean() { return add<average_pool<T>>(); }

  /// Adds a residual block.
  stack& add_residual(layer_list<T> body, layer_list<T> shortcut, image_shape const& output_shape) {
    layers_.push_back(residual<T>(std::move(body), std::move(shortcut)));
    shape_ = output_shape;
    return *this;
  }

  /// The shape of the last layer's output.
  [[nodiscard]] image_shape const& shape() const noexcept { return shape_; }
  /// The layers; the stack is empty after that.
  [[nodiscard]] layer_list<T> take() { return std::move(layers_); }

 private:
  image_shape shape_;  // shape of the last layer's output
  layer_list<T> layers_;
};

/// The largest side of small images, such as CIFAR-10's. Models made for 224 x 224 have variants for them.
inline constexpr std::size_t small_image = 64;

}  // namespace tutti::nn
