// SPDX-License-Identifier: Apache-2.0
// test: address optimised
#include <models/host_math.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/cuda/detail/device/blocks.hpp>
#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/channels_last.hpp>
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/dropout.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/layer/residual.hpp>
#include <tutti/nn/layer/weight_norm.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace nn = tutti::nn;
namespace device = tutti::nn::detail::device;
using models::host_math;
using nn::average_pool, nn::batch_norm, nn::channels_last, nn::conv2d, nn::dense, nn::dropout, nn::layer_list,
    nn::max_pool, nn::residual, nn::weight_norm, nn::precision;

// Each layer's stage on a device agrees with the layer.

namespace {

constexpr std::size_t rows = 5;
constexpr std::size_t most_rows = 7;  // a batch may be smaller than the allocated memory allows
constexpr nn::image_shape image{4, 5, 6};

/// Numbers that are exact in bfloat16, so that the test compares layers and not the rounding of their inputs.
std::vector<float> random_numbers(std::size_t count, std::uint64_t seed) {
  nn::random_sequence random(seed);
  std::vector<float> result(count);
  std::ranges::generate(result, [&] { return float{tutti::bfloat16(2 * random.fraction<float>() - 1)}; });
  return result;
}

/// |a - b| / |b|.
double relative_error(std::vector<float> const& a, std::vector<float> const& b) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i != b.size(); ++i) {
    difference += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
    size += double{b[i]} * double{b[i]};
  }
  return difference == 0 ? 0 : std::sqrt(difference / size);
}

/// The results of a batch.
struct batch_result {
  std::vector<float> y, dx, gradients, statistics, tested;
};

struct layer_case {
  layer_list<float> list;
  std::vector<float> parameters;
  std::vector<float> statistics;
  std::vector<float> x = random_numbers(rows * layer().inputs(), 1);
  std::vector<float> dy = random_numbers(rows * layer().outputs(), 2);
  nn::batch_context<float> context{true, 7, 3, {}};

  explicit layer_case(layer_list<float> layers)
      : list(std::move(layers)), parameters(layer().parameters()), statistics(layer().statistics()) {
    std::vector<float> gradients(layer().parameters());
    layer().bind(parameters, gradients, statistics);
    nn::random_sequence random(3);
    layer().initialise(random);
    for (float& p : parameters) {
      p = float{tutti::bfloat16(p + (random.fraction<float>() - 0.5F) / 4)};
    }
  }

  [[nodiscard]] nn::layer<float>& layer() { return list.front(); }

  batch_result by_host() {
    batch_result result{std::vector<float>(dy.size()), std::vector<float>(x.size()),
                        std::vector<float>(parameters.size(), 99), statistics, std::vector<float>(dy.size())};
    layer().bind(parameters, result.gradients, result.statistics);
    layer().reserve(rows);
    auto slopes = dy;
    auto const input = nn::view<float const>(x.data(), rows, layer().inputs());
    auto const y = nn::view<float>(result.y.data(), rows, layer().outputs());
    layer().forward(context, input, y);
    layer().backward(context, input, y, nn::view<float>(slopes.data(), rows, layer().outputs()),
                     nn::view<float>(result.dx.data(), rows, layer().inputs()));
    layer().forward({}, input, nn::view<float>(result.tested.data(), rows, layer().outputs()));
    return result;
  }

  batch_result by_device(precision p) {
    host_math math(0, p);
    auto const stage = device::make_stage(math, layer().geometry());
    BOOST_TEST(stage->shape().inputs == layer().inputs());
    BOOST_TEST(stage->shape().outputs == layer().outputs());
    BOOST_TEST(stage->shape().parameters == layer().parameters());
    BOOST_TEST(stage->shape().statistics == layer().statistics());
    device::mirrored_array<host_math> weights(math, parameters.size());
    device::mirrored_array<host_math> device_statistics(math, statistics.size());
    device::mirrored_array<host_math> gradients(math, parameters.size());
    std::ranges::copy(parameters, weights.write().begin());
    std::ranges::copy(statistics, device_statistics.write().begin());
    stage->bind(weights.on_device(), gradients.change_on_device(), device_statistics.change_on_device());
    stage->reserve(most_rows);
    stage->refresh();
    numbers input(math, x), output(math, dy.size()), slopes(math, dy), input_slopes(math, x.size()),
        tested(math, dy.size());
    stage->forward(context, rows, input.data(), output.data());
    stage->backward(context, rows, input.data(), output.data(), slopes.data(), input_slopes.data());
    stage->forward({}, rows, input.data(), tested.data());
    auto const floats = [](std::span<float const> source) { return std::vector<float>(source.begin(), source.end()); };
    return {output.read(), input_slopes.read(), floats(gradients.read()), floats(device_statistics.read()),
            tested.read()};
  }

 private:
  /// Numbers in the math's precision, converted from floats and back.
  struct numbers {
    numbers(host_math& m, std::size_t count)
        : math(m), size(count), device_numbers(m, count * nn::bytes_of(m.numbers())), floats(m, count) {}
    numbers(host_math& m, std::vector<float> const& source) : numbers(m, source.size()) {
      std::ranges::copy(source, floats.write().begin());
      math.narrow(size, floats.on_device(), device_numbers.data());
    }
    [[nodiscard]] std::byte* data() const { return device_numbers.data(); }
    [[nodiscard]] std::vector<float> read() {
      math.widen(size, device_numbers.data(), floats.change_on_device());
      auto const span = floats.read();
      return {span.begin(), span.end()};
    }

    host_math& math;
    std::size_t size;
    device::buffer<host_math> device_numbers;
    device::mirrored_array<host_math> floats;
  };
};

void check(std::string const& name, layer_list<float> layer) {
  nn::set_threads(1);
  layer_case subject(std::move(layer));
  auto const right = subject.by_host();
  for (auto const& [p, max_error] : {std::pair(precision::float32, 1e-4), std::pair(precision::bfloat16, 2e-2)}) {
    BOOST_TEST_CONTEXT(name << ", " << nn::name(p)) {
      auto const result = subject.by_device(p);
      BOOST_TEST(relative_error(result.y, right.y) <= max_error);
      BOOST_TEST(relative_error(result.dx, right.dx) <= max_error);
      BOOST_TEST(relative_error(result.gradients, right.gradients) <= max_error);
      BOOST_TEST(relative_error(result.statistics, right.statistics) <= max_error);
      BOOST_TEST(relative_error(result.tested, right.tested) <= max_error);
    }
  }
}

/// The layers of a residual block.
layer_list<float> block(std::size_t channels, std::size_t stride) {
  conv2d<float, nn::tanh> first(image, {.channels = channels, .filter_window = {3, stride, 1}});
  conv2d<float> second(first.output_shape(), {.channels = channels, .filter_window = {3, 1, 1}, .bias = false});
  auto const shape = second.output_shape();
  return {std::move(first), std::move(second), batch_norm<float>(shape)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(layers_with_weights_compute_what_the_cpu_s_do) {
  check("dense", dense<float, nn::identity>(6, 4));
  check("dense, relu", dense<float, nn::relu>(6, 4));
  check("dense, tanh", dense<float, nn::tanh>(6, 4));
  check("dense, sigmoid", dense<float, nn::sigmoid>(6, 4));
  check("conv2d", conv2d<float>(image, {.channels = 3, .filter_window = {3}}));
  check("conv2d, padded", conv2d<float, nn::relu>(image, {.channels = 3, .filter_window = {3, 1, 1}}));
  check("conv2d, strides", conv2d<float, nn::sigmoid>(image, {.channels = 3, .filter_window = {3, 2, 2}}));
  check("conv2d, groups", conv2d<float, nn::tanh>(image, {.channels = 6, .filter_window = {2, 1, 0}, .groups = 2}));
  check("conv2d, without biases", conv2d<float, nn::relu>(image, {.channels = 3, .filter_window = {3}, .bias = false}));
  check("weight_norm, dense", weight_norm<float>(dense<float, nn::tanh>(6, 4)));
  check("weight_norm, conv2d",
        weight_norm<float>(conv2d<float>(image, {.channels = 4, .filter_window = {3, 1, 1}, .groups = 2})));
}

BOOST_AUTO_TEST_CASE(layers_without_weights_compute_what_the_cpu_s_do) {
  check("max_pool", max_pool<float>(image, {2, 2}));
  check("max_pool, overlapping", max_pool<float>(image, {3, 2, 1}));
  check("average_pool", average_pool<float>(image, {3, 2, 1}));
  check("average_pool, all", average_pool<float>(image));
  check("batch_norm", batch_norm<float>(image));
  check("batch_norm, relu", batch_norm<float, nn::relu>(image));
  check("dropout", dropout<float>(30, 0.4));
  check("channels_last", channels_last<float>(image));
}

BOOST_AUTO_TEST_CASE(residual_blocks_compute_what_the_cpu_s_do) {
  check("residual", residual<float>(block(4, 1)));
  conv2d<float> shortcut(image, {.channels = 6, .filter_window = {1, 2}, .bias = false});
  check("residual, projected", residual<float>(block(6, 2), {shortcut, batch_norm<float>(shortcut.output_shape())}));
}

BOOST_AUTO_TEST_CASE(what_is_dropped_has_the_cpu_s_bits) {
  layer_case subject(dropout<float>(30, 0.4));
  BOOST_TEST(subject.by_device(precision::float32).y == subject.by_host().y);
}
