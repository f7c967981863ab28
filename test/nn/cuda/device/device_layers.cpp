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
std::vector<float> drawn(std::size_t count, std::uint64_t seed) {
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
struct seen {
  std::vector<float> y, dx, gradients, statistics, tested;
};

struct layer_case {
  layer_list<float> list;
  std::vector<float> parameters;
  std::vector<float> statistics;
  std::vector<float> x = drawn(rows * layer().inputs(), 1);
  std::vector<float> dy = drawn(rows * layer().outputs(), 2);
  nn::batch_context<float> how{true, 7, 3, {}};

  explicit layer_case(layer_list<float> one)
      : list(std::move(one)), parameters(layer().parameters()), statistics(layer().statistics()) {
    std::vector<float> gradients(layer().parameters());
    layer().bind(parameters, gradients, statistics);
    nn::random_sequence random(3);
    layer().initialise(random);
    for (float& p : parameters) {
      p = float{tutti::bfloat16(p + (random.fraction<float>() - 0.5F) / 4)};
    }
  }

  [[nodiscard]] nn::layer<float>& layer() { return list.front(); }

  seen by_host() {
    seen result{std::vector<float>(dy.size()), std::vector<float>(x.size()), std::vector<float>(parameters.size(), 99),
                statistics, std::vector<float>(dy.size())};
    layer().bind(parameters, result.gradients, result.statistics);
    layer().reserve(rows);
    auto slopes = dy;
    auto const in = nn::view<float const>(x.data(), rows, layer().inputs());
    auto const y = nn::view<float>(result.y.data(), rows, layer().outputs());
    layer().forward(how, in, y);
    layer().backward(how, in, y, nn::view<float>(slopes.data(), rows, layer().outputs()),
                     nn::view<float>(result.dx.data(), rows, layer().inputs()));
    layer().forward({}, in, nn::view<float>(result.tested.data(), rows, layer().outputs()));
    return result;
  }

  seen by_device(precision p) {
    host_math math(0, p);
    auto const stage = device::make_stage(math, layer().geometry());
    BOOST_TEST(stage->of().inputs == layer().inputs());
    BOOST_TEST(stage->of().outputs == layer().outputs());
    BOOST_TEST(stage->of().parameters == layer().parameters());
    BOOST_TEST(stage->of().statistics == layer().statistics());
    device::mirrored<host_math> weights(math, parameters.size());
    device::mirrored<host_math> remembered(math, statistics.size());
    device::mirrored<host_math> gradients(math, parameters.size());
    std::ranges::copy(parameters, weights.write().begin());
    std::ranges::copy(statistics, remembered.write().begin());
    stage->bind(weights.on_device(), gradients.change_on_device(), remembered.change_on_device());
    stage->reserve(most_rows);
    stage->refresh();
    numbers in(math, x), out(math, dy.size()), slopes(math, dy), back(math, x.size()), tested(math, dy.size());
    stage->forward(how, rows, in.data(), out.data());
    stage->backward(how, rows, in.data(), out.data(), slopes.data(), back.data());
    stage->forward({}, rows, in.data(), tested.data());
    auto const floats = [](std::span<float const> from) { return std::vector<float>(from.begin(), from.end()); };
    return {out.read(), back.read(), floats(gradients.read()), floats(remembered.read()), tested.read()};
  }

 private:
  /// Numbers in the math's precision, converted from floats and back.
  struct numbers {
    numbers(host_math& m, std::size_t count)
        : math(m), size(count), there(m, count * nn::bytes_of(m.numbers())), floats(m, count) {}
    numbers(host_math& m, std::vector<float> const& from) : numbers(m, from.size()) {
      std::ranges::copy(from, floats.write().begin());
      math.narrow(size, floats.on_device(), there.data());
    }
    [[nodiscard]] std::byte* data() const { return there.data(); }
    [[nodiscard]] std::vector<float> read() {
      math.widen(size, there.data(), floats.change_on_device());
      auto const all = floats.read();
      return {all.begin(), all.end()};
    }

    host_math& math;
    std::size_t size;
    device::buffer<host_math> there;
    device::mirrored<host_math> floats;
  };
};

void check(std::string const& name, layer_list<float> layer) {
  nn::set_threads(1);
  layer_case one(std::move(layer));
  auto const right = one.by_host();
  for (auto const& [p, most] : {std::pair(precision::float32, 1e-4), std::pair(precision::bfloat16, 2e-2)}) {
    BOOST_TEST_CONTEXT(name << ", " << nn::name(p)) {
      auto const found = one.by_device(p);
      BOOST_TEST(relative_error(found.y, right.y) <= most);
      BOOST_TEST(relative_error(found.dx, right.dx) <= most);
      BOOST_TEST(relative_error(found.gradients, right.gradients) <= most);
      BOOST_TEST(relative_error(found.statistics, right.statistics) <= most);
      BOOST_TEST(relative_error(found.tested, right.tested) <= most);
    }
  }
}

/// The layers of a residual block.
layer_list<float> block(std::size_t channels, std::size_t stride) {
  conv2d<float, nn::tanh> first(image, {.channels = channels, .filter_window = {3, stride, 1}});
  conv2d<float> second(first.output_shape(), {.channels = channels, .filter_window = {3, 1, 1}, .bias = false});
  auto const made = second.output_shape();
  return {std::move(first), std::move(second), batch_norm<float>(made)};
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
  layer_case one(dropout<float>(30, 0.4));
  BOOST_TEST(one.by_device(precision::float32).y == one.by_host().y);
}
