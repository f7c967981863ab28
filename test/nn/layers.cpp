// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE nn_layers
#include <nn/layer_laws.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/optimizer/sgd.hpp>
#include <tutti/nn/zoo/lenet5.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/reduction/instructions.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
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

/// The bits of all weights after two steps.
std::vector<std::uint32_t> trained(std::vector<any_layer<float>> layers, tutti::instruction_set most) {
  tutti::limit_instructions(most);
  nn::model<float> model(std::move(layers));
  model.initialise(1);
  nn::sgd<float> optimizer(model.parameters().size(), 0.9F, 0.001F);
  nn::random_sequence random(2);
  nn::matrix<float> x({5, model.inputs()});
  std::generate_n(x.data(), x.size(), [&] { return random.fraction<float>(); });
  for (int step = 0; step != 2; ++step) {
    auto const in = nn::read_only<float>(nn::first_rows(x, 5));
    auto const y = model.forward(in, {.training = true});
    std::copy_n(y.data(), y.size(), model.derivatives().data());
    model.backward(in);
    optimizer.step(model.parameters(), model.gradients(), 0.01F);
  }
  tutti::limit_instructions(tutti::available_instructions());
  std::vector<std::uint32_t> bits;
  std::ranges::transform(model.parameters(), std::back_inserter(bits),
                         [](float w) { return std::bit_cast<std::uint32_t>(w); });
  return bits;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_processor_s_instructions_change_no_bit) {
  using enum tutti::instruction_set;
  BOOST_TEST((trained(nn::lenet5<float>({1, 28, 28}, 10), baseline) ==
              trained(nn::lenet5<float>({1, 28, 28}, 10), tutti::available_instructions())));
  BOOST_TEST((trained(nn::small_resnet<float>(8, {3, 8, 8}, 10), baseline) ==
              trained(nn::small_resnet<float>(8, {3, 8, 8}, 10), tutti::available_instructions())));
}

BOOST_AUTO_TEST_CASE(the_largest_is_the_first_of_equals_and_a_nan_before_all) {
  max_pool<float> layer({1, 2, 2}, {2, 2, 0});
  layer.reserve(1);
  float const nan = std::numeric_limits<float>::quiet_NaN();
  float const infinity = std::numeric_limits<float>::infinity();
  auto const chosen = [&](std::vector<float> x) {
    float y = 0;
    float dy = 1;
    std::vector<float> dx(4);
    layer.forward({}, nn::view<float const>(x.data(), 1, 4), nn::view<float>(&y, 1, 1));
    layer.backward({}, nn::view<float const>(x.data(), 1, 4), nn::view<float>(&y, 1, 1), nn::view<float>(&dy, 1, 1),
                   nn::view<float>(dx.data(), 1, 4));
    auto const at = static_cast<std::size_t>(std::ranges::find(dx, 1.0F) - dx.begin());
    BOOST_TEST((at != 4 && (y == x[at] || (std::isnan(y) && std::isnan(x[at])))));
    return at;
  };
  BOOST_TEST(chosen({1, 2, 3, 4}) == 3);
  BOOST_TEST(chosen({-1, -2, -3, -4}) == 0);
  BOOST_TEST(chosen({-infinity, -infinity, -infinity, -infinity}) == 0);
  BOOST_TEST(chosen({0, 1, 1, 0}) == 1);  // row by row, not column by column
  BOOST_TEST(chosen({0, 0, 1, 1}) == 2);
  BOOST_TEST(chosen({5, infinity, nan, 5}) == 2);
  BOOST_TEST(chosen({5, -nan, infinity, 5}) == 1);
  BOOST_TEST(chosen({-nan, nan, 1, 1}) == 0);
}

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
