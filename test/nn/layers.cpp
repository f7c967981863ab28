// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE nn_layers
#include <nn/layer_laws.hpp>

#include <vector>

namespace nn = tutti::nn;
using laws::check_layer;
using nn::any_layer, nn::average_pool, nn::batch_norm, nn::channels_last, nn::conv2d, nn::dense, nn::dropout,
    nn::max_pool, nn::residual, nn::weight_norm;

namespace {

// Channels, rows, columns: all different, so that none is taken for another.
constexpr nn::image_shape image{4, 5, 6};

/// What a residual block is made of.
template <class T>
std::vector<any_layer<T>> block(nn::image_shape const& shape, std::size_t channels) {
  conv2d<T, nn::tanh> first(shape, {.channels = channels, .over = {3, 1, 1}});
  conv2d<T> second(first.output_shape(), {.channels = channels, .over = {3, 1, 1}, .bias = false});
  auto const made = second.output_shape();
  return {std::move(first), std::move(second), batch_norm<T>(made)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(dense_layers) {
  check_layer("identity", []<class T>(T) -> any_layer<T> { return dense<T, nn::identity>(4, 3); });
  check_layer("relu", []<class T>(T) -> any_layer<T> { return dense<T, nn::relu>(4, 3); });
  check_layer("tanh", []<class T>(T) -> any_layer<T> { return dense<T, nn::tanh>(4, 3); });
  check_layer("sigmoid", []<class T>(T) -> any_layer<T> { return dense<T, nn::sigmoid>(4, 3); });
}

BOOST_AUTO_TEST_CASE(convolutions) {
  check_layer("plain",
              []<class T>(T) -> any_layer<T> { return conv2d<T>(image, {.channels = 3, .over = {.side = 3}}); });
  check_layer("padded", []<class T>(T) -> any_layer<T> {
    return conv2d<T>(image, {.channels = 3, .over = {.side = 3, .padding = 2}});
  });
  check_layer("strided", []<class T>(T) -> any_layer<T> {
    return conv2d<T>(image, {.channels = 3, .over = {.side = 2, .stride = 3, .padding = 1}});
  });
  check_layer("of single pixels",
              []<class T>(T) -> any_layer<T> { return conv2d<T, nn::relu>(image, {.channels = 7}); });
  check_layer("in groups", []<class T>(T) -> any_layer<T> {
    return conv2d<T, nn::tanh>(image, {.channels = 6, .over = {3, 1, 1}, .groups = 2});
  });
  check_layer("each channel by itself", []<class T>(T) -> any_layer<T> {
    return conv2d<T>(image, {.channels = 4, .over = {3, 2, 1}, .groups = 4});
  });
  check_layer("without bias", []<class T>(T) -> any_layer<T> {
    return conv2d<T, nn::sigmoid>(image, {.channels = 3, .over = {3, 1, 1}, .bias = false});
  });
  check_layer("of as many channels as a vector has", []<class T>(T) -> any_layer<T> {
    return conv2d<T, nn::relu>({16, 7, 6}, {.channels = 16, .over = {3, 1, 1}});
  });
  check_layer("in several pieces", []<class T>(T) -> any_layer<T> {
    return conv2d<T>({1, 20, 20}, {.channels = 2, .over = {5, 1, 2}});
  });
}

BOOST_AUTO_TEST_CASE(pooling) {
  check_layer("largest of four", []<class T>(T) -> any_layer<T> { return max_pool<T>(image, {2, 2, 0}); });
  check_layer("largest, overlapping", []<class T>(T) -> any_layer<T> { return max_pool<T>(image, {3, 2, 1}); });
  check_layer("mean of four", []<class T>(T) -> any_layer<T> { return average_pool<T>(image, {2, 2, 0}); });
  check_layer("mean, overlapping", []<class T>(T) -> any_layer<T> { return average_pool<T>(image, {3, 2, 1}); });
}

BOOST_AUTO_TEST_CASE(normalisation) {
  check_layer("of images", []<class T>(T) -> any_layer<T> { return batch_norm<T>(image); });
  check_layer("of images, relu", []<class T>(T) -> any_layer<T> { return batch_norm<T, nn::relu>(image); });
  check_layer("of rows", []<class T>(T) -> any_layer<T> { return batch_norm<T>({6, 1, 1}); });
  check_layer("of the weights of a dense layer",
              []<class T>(T) -> any_layer<T> { return weight_norm<T>(dense<T, nn::tanh>(4, 3)); });
  check_layer("of the weights of a convolution", []<class T>(T) -> any_layer<T> {
    return weight_norm<T>(conv2d<T, nn::tanh>(image, {.channels = 6, .over = {3, 1, 1}, .groups = 2}));
  });
}

BOOST_AUTO_TEST_CASE(dropping_out) {
  check_layer("some", []<class T>(T) -> any_layer<T> { return dropout<T>(20, 0.4); });
  check_layer("none", []<class T>(T) -> any_layer<T> { return dropout<T>(20, 0.0); });
}

BOOST_AUTO_TEST_CASE(bringing_channels_together) {
  check_layer("images", []<class T>(T) -> any_layer<T> { return channels_last<T>(image); });
}

BOOST_AUTO_TEST_CASE(residual_blocks) {
  check_layer("beside x", []<class T>(T) -> any_layer<T> { return residual<T>(block<T>(image, 4)); });
  check_layer("beside a projection", []<class T>(T) -> any_layer<T> {
    return residual<T>(block<T>(image, 3), {conv2d<T>(image, {.channels = 3})});
  });
}
