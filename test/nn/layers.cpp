// SPDX-License-Identifier: Apache-2.0
// test: address optimised
#include <nn/layer_laws.hpp>
#include <tutti/detail/reduction/instructions.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/detail/numbers/loops.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/channels_last.hpp>
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/dropout.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/layer/residual.hpp>
#include <tutti/nn/layer/weight_norm.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/optimizer/sgd.hpp>
#include <tutti/nn/zoo/lenet5.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/nn/zoo/stack.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace nn = tutti::nn;
using laws::check_layer;
using nn::average_pool, nn::batch_norm, nn::channels_last, nn::conv2d, nn::dense, nn::dropout, nn::layer_list,
    nn::max_pool, nn::residual, nn::weight_norm;

namespace {

// Channels, rows, columns: all different, so that a mix-up shows.
constexpr nn::image_shape image{4, 5, 6};

/// The layers of a residual block.
template <class T>
layer_list<T> block(nn::image_shape const& shape, std::size_t channels) {
  conv2d<T, nn::tanh> first(shape, {.channels = channels, .filter_window = {3, 1, 1}});
  conv2d<T> second(first.output_shape(), {.channels = channels, .filter_window = {3, 1, 1}, .bias = false});
  auto const output_shape = second.output_shape();
  return {std::move(first), std::move(second), batch_norm<T>(output_shape)};
}

/// A layer as users write it: y = x x, without parameters.
template <class T>
struct square final : nn::layer<T> {
  std::size_t columns;

  explicit square(std::size_t numbers) : columns(numbers) {}

  [[nodiscard]] std::unique_ptr<nn::layer<T>> clone() const override { return std::make_unique<square>(*this); }
  [[nodiscard]] std::size_t inputs() const override { return columns; }
  [[nodiscard]] std::size_t outputs() const override { return columns; }
  void forward(nn::batch_context<T> const&, nn::matrix_view<T const> const& x, nn::matrix_view<T> y) override {
    std::transform(x.data(), x.data() + x.size(), y.data(), [](T number) { return number * number; });
  }
  void backward(nn::batch_context<T> const&, nn::matrix_view<T const> const& x, nn::matrix_view<T> const&,
                nn::matrix_view<T> dy, nn::matrix_view<T> dx) override {
    for (std::size_t i = 0; i != dx.size(); ++i) {
      dx.data()[i] = 2 * x.data()[i] * dy.data()[i];
    }
  }
};

/// A layer as users write it: y = w x, with a weight for each column.
template <class T>
struct scale final : nn::layer<T> {
  std::size_t columns;
  std::span<T> weights_of_columns;
  std::span<T> slopes;

  explicit scale(std::size_t numbers) : columns(numbers) {}

  [[nodiscard]] std::unique_ptr<nn::layer<T>> clone() const override { return std::make_unique<scale>(*this); }
  [[nodiscard]] std::size_t inputs() const override { return columns; }
  [[nodiscard]] std::size_t outputs() const override { return columns; }
  [[nodiscard]] std::size_t parameters() const override { return columns; }
  void bind(std::span<T> parameters, std::span<T> gradients, std::span<T>) override {
    weights_of_columns = parameters;
    slopes = gradients;
  }
  void initialise(nn::random_sequence& random) override {
    std::ranges::generate(weights_of_columns, [&] { return random.fraction<T>(); });
  }
  void forward(nn::batch_context<T> const&, nn::matrix_view<T const> const& x, nn::matrix_view<T> y) override {
    for (std::size_t i = 0; i != x.size(); ++i) {
      y.data()[i] = weights_of_columns[i % columns] * x.data()[i];
    }
  }
  void backward(nn::batch_context<T> const&, nn::matrix_view<T const> const& x, nn::matrix_view<T> const&,
                nn::matrix_view<T> dy, nn::matrix_view<T> dx) override {
    std::ranges::fill(slopes, T{0});
    for (std::size_t i = 0; i != x.size(); ++i) {
      slopes[i % columns] += x.data()[i] * dy.data()[i];
    }
    for (std::size_t i = 0; i != dx.size(); ++i) {
      dx.data()[i] = weights_of_columns[i % columns] * dy.data()[i];
    }
  }
};

constexpr std::size_t few_rows = 5;
constexpr std::size_t enough_for_threads = 40;

/// The bits of all weights after two steps.
std::vector<std::uint32_t> trained_weights(layer_list<float> layers, std::size_t rows) {
  nn::model<float> model(std::move(layers));
  model.initialise(1);
  nn::sgd<float> optimizer(model.parameters().size(), 0.9F, 0.001F);
  nn::random_sequence random(2);
  nn::matrix<float> x({rows, model.inputs()});
  std::generate_n(x.data(), x.size(), [&] { return random.fraction<float>(); });
  for (int step = 0; step != 2; ++step) {
    auto const input = nn::read_only<float>(nn::first_rows(x, rows));
    auto const y = model.forward(input, {.training = true});
    std::copy_n(y.data(), y.size(), model.derivatives().data());
    model.backward(input);
    optimizer.step(model.parameters(), model.gradients(), 0.01F);
  }
  std::vector<std::uint32_t> bits;
  std::ranges::transform(model.parameters(), std::back_inserter(bits),
                         [](float w) { return std::bit_cast<std::uint32_t>(w); });
  return bits;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_processor_s_instructions_change_no_bit) {
  auto const change_no_bit = [](layer_list<float> const& layers) {
    tutti::detail::limit_instructions(tutti::detail::instruction_set::baseline);
    auto const plain = trained_weights(layers, few_rows);
    tutti::detail::limit_instructions(tutti::detail::available_instructions());
    return plain == trained_weights(layers, few_rows);
  };
  BOOST_TEST(change_no_bit(nn::lenet5<float>({1, 28, 28}, 10)));
  BOOST_TEST(change_no_bit(nn::small_resnet<float>(8, {3, 8, 8}, 10)));
}

BOOST_AUTO_TEST_CASE(a_loop_is_shared_out_without_gaps) {
  for (int const threads : {1, 2, 3}) {
    nn::set_threads(threads);
    for (std::size_t const count : std::initializer_list<std::size_t>{0, 1, 7, 8, 1000}) {
      std::vector<int> visit_counts(count);
      std::atomic<int> parts = 0;
      nn::detail::parallel_for(count, 4, [&](std::size_t first, std::size_t last) {
        parts += 1;
        std::for_each(visit_counts.begin() + static_cast<std::ptrdiff_t>(first),
                      visit_counts.begin() + static_cast<std::ptrdiff_t>(last), [](int& d) { ++d; });
      });
      BOOST_TEST(std::ranges::count(visit_counts, 1) == static_cast<std::ptrdiff_t>(count));
      BOOST_TEST(parts <= (count < 8 ? 1 : threads));
    }
  }
  nn::set_threads(1);
}

BOOST_AUTO_TEST_CASE(each_element_is_computed_once) {
  for (int const threads : {1, 2, 3}) {
    nn::set_threads(threads);
    for (std::size_t const count : {std::size_t{0}, std::size_t{1}, 3 * nn::detail::numbers_for_a_thread + 5}) {
      std::vector<std::uint32_t> numbers(count + 1);
      nn::detail::elementwise(count,
                              [to = numbers.data()](std::size_t i) { to[i] += static_cast<std::uint32_t>(i) + 1; });
      std::size_t wrong = 0;
      for (std::size_t i = 0; i != count; ++i) {
        wrong += static_cast<std::size_t>(numbers[i] != i + 1);
      }
      BOOST_TEST(wrong == 0);
      BOOST_TEST(numbers[count] == 0);
    }
  }
  nn::set_threads(1);
}

// No convolutions and products: oneDNN computes them, in an order of sums that depends on the number of threads.
BOOST_AUTO_TEST_CASE(the_number_of_threads_changes_no_bit) {
  nn::image_shape const large{6, 30, 31};
  layer_list<float> const layers{batch_norm<float, nn::relu>(large), residual<float>(batch_norm<float>(large)),
                                 max_pool<float>(large, {3, 2, 1}), batch_norm<float>({6, 15, 16}),
                                 average_pool<float>({6, 15, 16}, {5, 3, 0})};
  auto const biases = [](std::size_t columns) {
    std::size_t const rows = 120'000 / columns;
    std::vector<float> y(rows * columns);
    nn::random_sequence random(3);
    std::ranges::generate(y, [&] { return random.fraction<float>() - 0.5F; });
    auto dy = y;
    std::vector<float> bias(columns, 0.1F);
    nn::detail::add_bias<nn::tanh>(y.data(), rows, columns, bias.data());
    nn::detail::differentiate_bias<nn::tanh>(y.data(), dy.data(), rows, columns, bias.data());
    y.insert(y.end(), dy.begin(), dy.end());
    y.insert(y.end(), bias.begin(), bias.end());
    return y;
  };
  nn::set_threads(1);
  auto const weights = trained_weights(layers, enough_for_threads);
  auto const narrow = biases(6);
  auto const wide = biases(300);
  for (int const threads : {2, 3}) {
    nn::set_threads(threads);
    BOOST_TEST((trained_weights(layers, enough_for_threads) == weights));
    BOOST_TEST((biases(6) == narrow));
    BOOST_TEST((biases(300) == wide));
  }
  nn::set_threads(1);
}

BOOST_AUTO_TEST_CASE(the_largest_is_the_first_of_equals_and_a_nan_before_all) {
  max_pool<float> layer({1, 2, 2}, {2, 2, 0});
  layer.reserve(1);
  float const nan = std::numeric_limits<float>::quiet_NaN();
  float const infinity = std::numeric_limits<float>::infinity();
  auto const chosen_pixel = [&](std::vector<float> x) {
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
  BOOST_TEST(chosen_pixel({1, 2, 3, 4}) == 3);
  BOOST_TEST(chosen_pixel({-1, -2, -3, -4}) == 0);
  BOOST_TEST(chosen_pixel({-infinity, -infinity, -infinity, -infinity}) == 0);
  BOOST_TEST(chosen_pixel({0, 1, 1, 0}) == 1);  // row by row, not column by column
  BOOST_TEST(chosen_pixel({0, 0, 1, 1}) == 2);
  BOOST_TEST(chosen_pixel({5, infinity, nan, 5}) == 2);
  BOOST_TEST(chosen_pixel({5, -nan, infinity, 5}) == 1);
  BOOST_TEST(chosen_pixel({-nan, nan, 1, 1}) == 0);
}

BOOST_AUTO_TEST_CASE(dense_layers) {
  check_layer("identity", []<class T>(T) -> layer_list<T> { return dense<T, nn::identity>(4, 3); });
  check_layer("relu", []<class T>(T) -> layer_list<T> { return dense<T, nn::relu>(4, 3); });
  check_layer("tanh", []<class T>(T) -> layer_list<T> { return dense<T, nn::tanh>(4, 3); });
  check_layer("sigmoid", []<class T>(T) -> layer_list<T> { return dense<T, nn::sigmoid>(4, 3); });
}

BOOST_AUTO_TEST_CASE(convolutions) {
  check_layer("plain", []<class T>(T) -> layer_list<T> {
    return conv2d<T>(image, {.channels = 3, .filter_window = {.side = 3}});
  });
  check_layer("padded", []<class T>(T) -> layer_list<T> {
    return conv2d<T>(image, {.channels = 3, .filter_window = {.side = 3, .padding = 2}});
  });
  check_layer("strided", []<class T>(T) -> layer_list<T> {
    return conv2d<T>(image, {.channels = 3, .filter_window = {.side = 2, .stride = 3, .padding = 1}});
  });
  check_layer("of single pixels",
              []<class T>(T) -> layer_list<T> { return conv2d<T, nn::relu>(image, {.channels = 7}); });
  check_layer("in groups", []<class T>(T) -> layer_list<T> {
    return conv2d<T, nn::tanh>(image, {.channels = 6, .filter_window = {3, 1, 1}, .groups = 2});
  });
  check_layer("each channel by itself", []<class T>(T) -> layer_list<T> {
    return conv2d<T>(image, {.channels = 4, .filter_window = {3, 2, 1}, .groups = 4});
  });
  check_layer("without bias", []<class T>(T) -> layer_list<T> {
    return conv2d<T, nn::sigmoid>(image, {.channels = 3, .filter_window = {3, 1, 1}, .bias = false});
  });
  check_layer("of as many channels as a vector has", []<class T>(T) -> layer_list<T> {
    return conv2d<T, nn::relu>({16, 7, 6}, {.channels = 16, .filter_window = {3, 1, 1}});
  });
  check_layer("in several pieces", []<class T>(T) -> layer_list<T> {
    return conv2d<T>({1, 20, 20}, {.channels = 2, .filter_window = {5, 1, 2}});
  });
}

BOOST_AUTO_TEST_CASE(pooling) {
  check_layer("largest of four", []<class T>(T) -> layer_list<T> { return max_pool<T>(image, {2, 2, 0}); });
  check_layer("largest, overlapping", []<class T>(T) -> layer_list<T> { return max_pool<T>(image, {3, 2, 1}); });
  check_layer("largest of four, of more channels than are taken at a time", []<class T>(T) -> layer_list<T> {
    return max_pool<T>({11, 3, 4}, {2, 1, 0});
  });
  check_layer("mean of four", []<class T>(T) -> layer_list<T> { return average_pool<T>(image, {2, 2, 0}); });
  check_layer("mean, overlapping", []<class T>(T) -> layer_list<T> { return average_pool<T>(image, {3, 2, 1}); });
  check_layer("mean of all", []<class T>(T) -> layer_list<T> { return average_pool<T>(image); });
}

BOOST_AUTO_TEST_CASE(the_mean_of_a_channel_is_of_all_its_pixels_in_images_of_any_shape) {
  for (nn::image_shape const& shape : {nn::image_shape{3, 4, 4}, {3, 2, 5}, {3, 5, 2}, {3, 1, 7}, {3, 6, 1}}) {
    nn::model<double> model(nn::stack<double>(shape).add_mean().take());
    BOOST_REQUIRE(model.outputs() == 3U);
    nn::matrix<double> x({1, shape.size()});
    std::array<double, 3> mean{};
    for (std::size_t i = 0; i != shape.size(); ++i) {  // the channels of a pixel are contiguous
      x.data()[i] = static_cast<double>(i * i);
      mean[i % 3] += x.data()[i] / static_cast<double>(shape.rows * shape.columns);
    }
    auto const y = model.forward(nn::read_only<double>(nn::first_rows(x, 1)));
    for (std::size_t c = 0; c != 3; ++c) {
      BOOST_TEST(std::abs(y.data()[c] - mean[c]) < 1e-9, shape.rows << " x " << shape.columns);
    }
  }
}

BOOST_AUTO_TEST_CASE(normalisation) {
  check_layer("of images", []<class T>(T) -> layer_list<T> { return batch_norm<T>(image); });
  check_layer("of images, relu", []<class T>(T) -> layer_list<T> { return batch_norm<T, nn::relu>(image); });
  check_layer("of rows", []<class T>(T) -> layer_list<T> { return batch_norm<T>({6, 1, 1}); });
  check_layer("of the weights of a dense layer",
              []<class T>(T) -> layer_list<T> { return weight_norm<T>(dense<T, nn::tanh>(4, 3)); });
  check_layer("of the weights of a convolution", []<class T>(T) -> layer_list<T> {
    return weight_norm<T>(conv2d<T, nn::tanh>(image, {.channels = 6, .filter_window = {3, 1, 1}, .groups = 2}));
  });
}

BOOST_AUTO_TEST_CASE(dropping_out) {
  check_layer("some", []<class T>(T) -> layer_list<T> { return dropout<T>(20, 0.4); });
  check_layer("none", []<class T>(T) -> layer_list<T> { return dropout<T>(20, 0.0); });
}

BOOST_AUTO_TEST_CASE(bringing_channels_together) {
  check_layer("images", []<class T>(T) -> layer_list<T> { return channels_last<T>(image); });
}

BOOST_AUTO_TEST_CASE(residual_blocks) {
  check_layer("beside x", []<class T>(T) -> layer_list<T> { return residual<T>(block<T>(image, 4)); });
  check_layer("beside a projection", []<class T>(T) -> layer_list<T> {
    return residual<T>(block<T>(image, 3), {conv2d<T>(image, {.channels = 3})});
  });
}

BOOST_AUTO_TEST_CASE(layers_of_a_user) {
  check_layer("square", []<class T>(T) -> layer_list<T> { return square<T>(5); });
  check_layer("scale", []<class T>(T) -> layer_list<T> { return scale<T>(5); });
  check_layer("beside x", []<class T>(T) -> layer_list<T> {
    return residual<T>(layer_list<T>{scale<T>(5), square<T>(5)});
  });
}

BOOST_AUTO_TEST_CASE(a_layer_without_geometry_says_that_it_computes_on_the_host) {
  BOOST_CHECK_THROW((void)scale<float>(5).geometry(), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(a_copy_of_a_list_has_layers_of_its_own) {
  layer_list<float> const layers{scale<float>(2), dense<float>(2, 3)};
  layer_list<float> const copy = layers;
  BOOST_TEST(copy.size() == 2U);
  BOOST_TEST(&copy.front() != &layers.front());
  BOOST_TEST(copy.back().outputs() == 3U);
  BOOST_CHECK_THROW(layer_list<float>().push_back(std::unique_ptr<nn::layer<float>>()), tutti::precondition_error);
}
