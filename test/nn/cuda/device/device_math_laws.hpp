// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nn/layer_on_host.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/nn/cuda/detail/device/math.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/channels_last.hpp>
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/dropout.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/layer/weight_norm.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/nn/optimizer/sgd.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// The laws of device math (nn/cuda/detail/device/math.hpp): each operation agrees with the CPU's layer, and equal
/// arguments give equal bits.
namespace laws {

namespace device = tutti::nn::detail::device;
namespace geometry = tutti::nn::geometry;
using tutti::nn::precision;

constexpr std::size_t device_rows = 5;
constexpr std::size_t device_most_rows = 7;  // a batch may be smaller than the allocated memory allows

/// Device memory, filled with bytes that are no valid result. Parameters are aligned to 4 bytes only.
template <class Math>
class on_device {
 public:
  on_device(Math& math, std::size_t bytes, std::size_t misalignment = 0)
      : math_(math),
        size_(bytes + misalignment == 0 ? 1 : bytes + misalignment),
        misalignment_(misalignment),
        first_(math.allocate(size_)) {
    move([&](std::byte* host) { std::memset(host, 0xA5, size_); }, true);
  }
  on_device(Math& math, floats const& source, std::size_t misalignment = 0)
      : on_device(math, 4 * source.size(), misalignment) {
    write(source);
  }
  on_device(on_device const&) = delete;
  on_device& operator=(on_device const&) = delete;
  ~on_device() { math_.free(first_); }

  [[nodiscard]] std::byte* data() const { return first_ + misalignment_; }
  [[nodiscard]] float* as_floats() const { return reinterpret_cast<float*>(data()); }
  template <class T>
  void write(std::vector<T> const& source) const {
    move([&](std::byte* host) { std::ranges::copy(std::as_bytes(std::span(source)), host + misalignment_); }, true);
  }
  template <class T>
  [[nodiscard]] std::vector<T> get(std::size_t count) const {
    std::vector<T> result(count);
    auto const bytes = std::as_writable_bytes(std::span(result));
    move([&](std::byte const* host) { std::copy_n(host + misalignment_, bytes.size(), bytes.begin()); }, false);
    return result;
  }

 private:
  template <class F>
  void move(F const& f, bool up) const {
    std::byte* const host = math_.allocate_host(size_);
    typename Math::event_type e;
    if (up) {
      f(host);
      math_.upload(math_.stream(), first_, host, size_);
    } else {
      math_.download(math_.stream(), host, first_, size_);
    }
    math_.record(e, math_.stream());
    math_.finish(e);
    if (!up) {
      f(host);
    }
    math_.free_host(host);
  }

  Math& math_;
  std::size_t size_;
  std::size_t misalignment_;
  std::byte* first_;
};

/// Numbers of the math's precision.
template <class Math>
class device_numbers {
 public:
  device_numbers(Math& math, std::size_t count)
      : math_(math), count_(count), memory_(math, count * tutti::nn::bytes_of(math.numbers())) {}
  device_numbers(Math& math, floats const& source) : device_numbers(math, source.size()) {
    on_device<Math> const floats_on_device(math, source);
    math.narrow(count_, floats_on_device.as_floats(), memory_.data());
    static_cast<void>(floats_on_device.template get<float>(count_));  // waits until it has run
  }
  [[nodiscard]] std::byte* data() const { return memory_.data(); }
  [[nodiscard]] floats get() const {
    on_device<Math> const floats_on_device(math_, 4 * count_);
    math_.widen(count_, memory_.data(), floats_on_device.as_floats());
    return floats_on_device.template get<float>(count_);
  }

 private:
  Math& math_;
  std::size_t count_;
  on_device<Math> memory_;
};

/// The results of a batch.
struct batch_result {
  floats y, dx, gradients, statistics, tested;

  friend bool operator==(batch_result const& a, batch_result const& b) {
    return same_bits(a.y, b.y) && same_bits(a.dx, b.dx) && same_bits(a.gradients, b.gradients) &&
           same_bits(a.statistics, b.statistics) && same_bits(a.tested, b.tested);
  }
};

/// A forward and a backward pass of one layer by device math.
template <class Math>
class batch_on_device {
 public:
  batch_on_device(Math& math, layer_on_host const& host)
      : math_(math),
        parameters_(math, host.parameters, 4),
        gradients_(math, 4 * host.parameters.size(), 4),
        statistics_(math, host.statistics, 4),
        x_(math, host.x),
        y_(math, host.y.size()),
        dy_(math, host.dy),
        dx_(math, host.x.size()),
        tested_(math, host.y.size()),
        context_(host.context),
        counts_{host.parameters.size(), host.statistics.size()} {}

  [[nodiscard]] batch_result run(geometry::variant const& l) {
    l.visit([this](auto const& layer) { this->pass(layer); });
    return {y_.get(), dx_.get(), gradients_.template get<float>(counts_.first),
            statistics_.template get<float>(counts_.second), tested_.get()};
  }

 private:
  template <class L>
    requires std::same_as<L, geometry::dense> || std::same_as<L, geometry::convolution>
  void pass(L const& l) {
    products(l, parameters_.as_floats(), gradients_.as_floats());
  }
  template <class L>
  void products(L const& l, float const* parameters, float* gradients) {
    math_.reserve(l, device_most_rows);
    on_device<Math> const native_weights(math_, math_.weight_bytes(l));
    math_.convert_weights(l, parameters, native_weights.data());
    device::weights const w{parameters, math_.weight_bytes(l) == 0 ? nullptr : native_weights.data()};
    math_.forward(l, device_rows, w, x_.data(), y_.data());
    math_.forward(l, device_rows, w, x_.data(), tested_.data());
    math_.differentiate_sums(l, device_rows, y_.data(), dy_.data(), gradients);
    math_.differentiate_weights(l, device_rows, x_.data(), dy_.data(), gradients);
    math_.differentiate_input(l, device_rows, w, dy_.data(), dx_.data());
    static_cast<void>(dx_.get());  // waits until all users of `native_weights` have run
  }
  void pass(geometry::weight_norm const& l) {
    on_device<Math> const inner_parameters(math_, 4 * l.layer_parameters, 4);
    on_device<Math> const slopes(math_, 4 * l.layer_parameters, 4);
    math_.normalise(l, parameters_.as_floats(), inner_parameters.as_floats());
    l.layer[0].visit([&](auto const& inner_layer) {
      using inner = std::remove_cvref_t<decltype(inner_layer)>;
      if constexpr (std::is_same_v<inner, geometry::dense> || std::is_same_v<inner, geometry::convolution>) {
        products(inner_layer, inner_parameters.as_floats(), slopes.as_floats());
      }
    });
    math_.differentiate_norm(l, parameters_.as_floats(), slopes.as_floats(), gradients_.as_floats());
    static_cast<void>(gradients_.template get<float>(0));
  }
  void pass(geometry::pooling const& l) {
    math_.reserve(l, device_most_rows);
    on_device<Math> const cache(math_, math_.cache_bytes(l, device_rows));
    math_.forward(l, device_rows, x_.data(), y_.data(), cache.data());
    math_.forward(l, device_rows, x_.data(), tested_.data(), cache.data());
    math_.backward(l, device_rows, x_.data(), y_.data(), cache.data(), dy_.data(), dx_.data());
    static_cast<void>(dx_.get());
  }
  void pass(geometry::batch_norm const& l) {
    std::size_t const room = 4 * (2 * l.image.channels + 1);
    on_device<Math> const sums(math_, room);
    on_device<Math> const cache(math_, room);
    math_.reserve(l, device_most_rows);
    math_.sums(l, device_rows, x_.data(), statistics_.as_floats(), sums.as_floats());
    math_.forward(l, device_rows, x_.data(), parameters_.as_floats(), sums.as_floats(), statistics_.as_floats(),
                  cache.as_floats(), y_.data());
    math_.slopes(l, device_rows, x_.data(), parameters_.as_floats(), cache.as_floats(), dy_.data(), sums.as_floats(),
                 gradients_.as_floats());
    math_.backward(l, device_rows, x_.data(), parameters_.as_floats(), cache.as_floats(), sums.as_floats(), dy_.data(),
                   dx_.data());
    math_.inference(l, device_rows, x_.data(), parameters_.as_floats(), statistics_.as_floats(), tested_.data());
    static_cast<void>(tested_.get());
  }
  void pass(geometry::dropout const& l) {
    std::uint64_t const key = tutti::nn::random_sequence(l.key, context_.step)();
    math_.drop(l, device_rows, key, context_.first_row, x_.data(), y_.data());
    math_.drop(l, device_rows, key, context_.first_row, dy_.data(), dx_.data());
    math_.copy(tested_.data(), x_.data(), device_rows * l.numbers * tutti::nn::bytes_of(math_.numbers()));
  }
  void pass(geometry::channels_last const& l) {
    math_.forward(l, device_rows, x_.data(), y_.data());
    math_.forward(l, device_rows, x_.data(), tested_.data());
    math_.backward(l, device_rows, dy_.data(), dx_.data());
  }
  void pass(geometry::residual const&) {}  // made of the other layers

  Math& math_;
  on_device<Math> parameters_, gradients_, statistics_;
  device_numbers<Math> x_, y_, dy_, dx_, tested_;
  tutti::nn::batch_context<float> context_;
  std::pair<std::size_t, std::size_t> counts_;
};

/// Compares a layer of the CPU with the device's.
template <class Math>
void check_layer(Math& math, std::string const& name, nn::layer_list<float> layer) {
  layer_on_host host(std::move(layer), device_rows);
  // Exact inputs make the test compare layers, and not the rounding of their inputs.
  if (math.numbers() != precision::float32) {
    for (floats* inputs : {&host.x, &host.dy, &host.parameters}) {
      std::ranges::for_each(*inputs, [](float& x) { x = float{tutti::bfloat16(x)}; });
    }
  }
  geometry::variant const l = host.layer().geometry();
  // Rounding may move a number across relu's corner, which changes its derivative entirely.
  if (math.numbers() != precision::float32) {
    floats const rounded_y = batch_on_device<Math>(math, host).run(l).y;
    layer_on_host exact = host;
    exact.run();
    for (std::size_t i = 0; i != rounded_y.size(); ++i) {
      host.dy[i] = (rounded_y[i] > 0) == (exact.y[i] > 0) ? host.dy[i] : 0;
    }
  }
  batch_on_device<Math> first(math, host);
  batch_on_device<Math> again(math, host);
  host.run();
  floats const y = host.y;
  host.forward({});
  batch_result const result = first.run(l);
  double const max_error = math.numbers() == precision::float32 ? 1e-4 : 2e-2;
  BOOST_TEST_CONTEXT(name << ", " << nn::name(math.numbers())) {
    BOOST_TEST(relative_error(result.y, y) <= max_error);
    BOOST_TEST(relative_error(result.dx, host.dx) <= max_error);
    BOOST_TEST(relative_error(result.gradients, host.gradients) <= max_error);
    BOOST_TEST(relative_error(result.statistics, host.statistics) <= max_error);
    BOOST_TEST(relative_error(result.tested, host.y) <= max_error);
    BOOST_TEST((again.run(l) == result), "the same batch gave other bits");
    if (std::holds_alternative<geometry::dropout>(l.description) && math.numbers() == precision::float32) {
      BOOST_TEST(same_bits(result.y, y));
    }
  }
}

template <class Math>
void check_layers(Math& math) {
  for (std::size_t const channels : {3U, 4U, 8U}) {  // with and without rows of whole packs
    nn::image_shape const image{channels, 5, 6};
    auto const check = [&](std::string const& name, nn::layer_list<float> layer) {
      check_layer(math, name + " of " + std::to_string(channels) + " channels", std::move(layer));
    };
    check("conv2d", nn::conv2d<float>(image, {.channels = 8, .filter_window = {3}}));
    check("conv2d, padded", nn::conv2d<float, nn::relu>(image, {.channels = 16, .filter_window = {3, 1, 1}}));
    check("conv2d, strides", nn::conv2d<float, nn::sigmoid>(image, {.channels = 3, .filter_window = {3, 2, 2}}));
    check("conv2d, without biases",
          nn::conv2d<float, nn::tanh>(image, {.channels = 8, .filter_window = {1}, .bias = false}));
    check("max_pool", nn::max_pool<float>(image, {2, 2}));
    check("max_pool, overlapping", nn::max_pool<float>(image, {3, 2, 1}));
    check("average_pool", nn::average_pool<float>(image, {3, 2, 1}));
    check("average_pool, all", nn::average_pool<float>(image));
    check("batch_norm", nn::batch_norm<float>(image));
    check("batch_norm, relu", nn::batch_norm<float, nn::relu>(image));
    check("channels_last", nn::channels_last<float>(image));
    check("dropout", nn::dropout<float>(10 * channels, 0.4));
  }
  nn::image_shape const image{8, 5, 6};
  check_layer(math, "conv2d, groups",
              nn::conv2d<float, nn::tanh>(image, {.channels = 8, .filter_window = {3}, .groups = 2}));
  check_layer(math, "channels_last, many", nn::channels_last<float>(nn::image_shape{40, 7, 9}));
  check_layer(math, "dense", nn::dense<float>(30, 10));
  check_layer(math, "dense, relu", nn::dense<float, nn::relu>(64, 32));
  check_layer(math, "dense, tanh", nn::dense<float, nn::tanh>(6, 4));
  check_layer(math, "dense, sigmoid", nn::dense<float, nn::sigmoid>(6, 700));
  check_layer(math, "weight_norm, dense", nn::weight_norm<float>(nn::dense<float, nn::tanh>(60, 40)));
  check_layer(math, "weight_norm, conv2d",
              nn::weight_norm<float>(nn::conv2d<float>(image, {.channels = 16, .filter_window = {3, 1, 1}})));
}

/// Checks single numbers, the loss, and optimizer steps.
template <class Math>
void check_step_math(Math& math) {
  constexpr std::size_t count = 1003;
  bool const exact = math.numbers() == precision::float32;
  double const max_error = exact ? 1e-4 : 2e-2;
  auto const to_precision = [&](floats v) {
    std::ranges::for_each(v, [&](float& x) { x = exact ? x : float{tutti::bfloat16(x)}; });
    return v;
  };
  floats const a = to_precision(drawn_floats(count, 11));
  floats const b = to_precision(drawn_floats(count, 12));
  floats sum(count);
  floats rectified_sum(count);
  floats split(count);
  for (std::size_t i = 0; i != count; ++i) {
    sum[i] = a[i] + b[i];
    rectified_sum[i] = sum[i] > 0 ? sum[i] : 0;
    split[i] = a[i] > 0 ? b[i] : 0;
  }
  device_numbers<Math> const first(math, a), second(math, b), output(math, count), slope_copy(math, count);
  BOOST_TEST(same_bits(first.get(), a));
  math.add_rectified(count, first.data(), second.data(), output.data());
  BOOST_TEST(relative_error(output.get(), rectified_sum) <= max_error);
  math.split_slopes(count, first.data(), second.data(), slope_copy.data());
  BOOST_TEST(same_bits(slope_copy.get(), split));
  BOOST_TEST(same_bits(second.get(), split));
  device_numbers<Math> const sums(math, b);
  math.add(count, first.data(), sums.data());
  BOOST_TEST(relative_error(sums.get(), sum) <= max_error);

  on_device<Math> const addends(math, a, 4), totals(math, b, 4), word(math, 4), scaled(math, 4 * count, 8);
  word.template write<std::uint32_t>({0});
  math.accumulate(count, addends.as_floats(), totals.as_floats());
  floats exact_sum = drawn_floats(0, 0);
  for (std::size_t i = 0; i != count; ++i) {
    exact_sum.push_back(b[i] + a[i]);
  }
  BOOST_TEST(same_bits(totals.template get<float>(count), exact_sum));
  math.multiply(count, 0.3F, totals.as_floats());
  floats product = exact_sum;
  std::ranges::for_each(product, [](float& x) { x *= 0.3F; });
  BOOST_TEST(same_bits(totals.template get<float>(count), product));
  auto* const overflow = reinterpret_cast<std::uint32_t*>(word.data());
  math.unscale(count, 1.0F, addends.as_floats(), scaled.as_floats(), overflow);
  BOOST_TEST(same_bits(scaled.template get<float>(count), a));
  BOOST_TEST(word.template get<std::uint32_t>(1)[0] == 0U);
  math.unscale(count, INFINITY, addends.as_floats(), scaled.as_floats(), overflow);
  BOOST_TEST(word.template get<std::uint32_t>(1)[0] == 1U);

  // The last parameters do not decay. They begin anywhere.
  constexpr std::size_t decay_count = 77;
  tutti::nn::sgd<float, tutti::nn::nesterov> host({{0, count, count - decay_count}}, 0.9F, 0.01F);
  on_device<Math> const weights(math, a, 4), velocity(math, floats(count), 4);
  floats expected = a;
  for (std::uint64_t i = 0; i != 3; ++i) {
    floats const g = drawn_floats(count, 20 + i);
    on_device<Math> const gradients(math, g, 4);
    host.step(expected, g, 0.1F);
    math.follow(decay_count, {0.1F, 0.9F, 0.01F, true, false}, weights.as_floats(), gradients.as_floats(),
                velocity.as_floats());
    math.follow(count - decay_count, {0.1F, 0.9F, 0, true, false}, weights.as_floats() + decay_count,
                gradients.as_floats() + decay_count, velocity.as_floats() + decay_count);
    BOOST_TEST(same_bits(weights.template get<float>(count), expected));
  }
}

template <class Math>
void check_loss(Math& math) {
  double const max_error = math.numbers() == precision::float32 ? 1e-4 : 2e-2;
  for (auto const& [rows, classes] : {std::pair<std::size_t, std::size_t>{5, 10}, {2000, 100}, {1, 1}}) {
    floats scores = drawn_floats(rows * classes, 30);
    std::ranges::for_each(scores, [](float& x) { x = float{tutti::bfloat16(3 * x)}; });
    std::vector<std::uint8_t> labels(rows);
    nn::random_sequence random(31);
    std::ranges::generate(labels, [&, n = classes] {
      return static_cast<std::uint8_t>(random.draw_below(static_cast<std::uint32_t>(n)));
    });
    float const smoothing = classes == 100 ? 0.1F : 0.0F;
    floats slopes(scores.size());
    auto const score =
        nn::softmax_cross_entropy::differentiate<float>(nn::view<float>(scores.data(), rows, classes), labels, 0.25F,
                                                        nn::view<float>(slopes.data(), rows, classes), smoothing);
    device_numbers<Math> const device_scores(math, scores), derivatives(math, scores.size());
    on_device<Math> const names(math, rows), result(math, 8);
    names.write(labels);
    auto const* const label = reinterpret_cast<std::uint8_t const*>(names.data());
    math.softmax_cross_entropy(rows, classes, device_scores.data(), label, {0.5F, 0.25F, smoothing}, derivatives.data(),
                               result.as_floats());
    auto const metrics = result.template get<float>(2);
    BOOST_TEST(relative_error({metrics[0]}, {0.5F * score.loss}) <= 1e-4);
    BOOST_TEST(metrics[1] == 0.5F * score.correct);
    BOOST_TEST(relative_error(derivatives.get(), slopes) <= max_error);
    math.softmax_cross_entropy(rows, classes, device_scores.data(), label, {0.5F, 0, smoothing}, nullptr,
                               result.as_floats());
    BOOST_TEST(same_bits(result.template get<float>(2), metrics));
  }
}

/// Checks all laws, for each precision.
template <device::device_math Math>
void check_math(int number) {
  for (precision const p : {precision::float32, precision::bfloat16, precision::float16}) {
    Math math(number, p);
    check_layers(math);
    check_step_math(math);
    check_loss(math);
  }
}

}  // namespace laws
