// SPDX-License-Identifier: Apache-2.0
// test: plain optimised
#include <nn/layer_on_host.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/nn/cuda/detail/device/columns.hpp>
#include <tutti/nn/cuda/detail/device/elements.hpp>
#include <tutti/nn/cuda/detail/device/pooling.hpp>
#include <tutti/nn/cuda/detail/device/softmax.hpp>
#include <tutti/nn/detail/optimizer/corrected_sgd.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/dropout.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/nn/optimizer/sgd.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

// The element functions of the device's kernels, run here in plain loops, agree with the CPU's layers.

namespace nn = tutti::nn;
namespace device = tutti::nn::detail::device;
using device::sgd_step;

namespace {

constexpr std::size_t rows = 5;
constexpr nn::image_shape image{8, 5, 6};
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

using laws::floats, laws::relative_error, laws::same_bits;

struct by_host : laws::layer_on_host {
  explicit by_host(nn::layer_list<float> layers) : layer_on_host(std::move(layers), ::rows) {}
};

/// Applies an operation to all numbers of a batch. @returns the output and its sums
template <class Operation>
std::pair<floats, floats> run_operation(Operation const& o, std::size_t channels, floats const& first,
                                        floats const& second) {
  floats output(first.size());
  floats sums(2 * channels);
  for (std::size_t i = 0; i != first.size(); ++i) {
    std::size_t const c = i % channels;
    float sum[2] = {};
    output[i] = o(o.at(c), first[i], second[i], sum);
    sums[c] += sum[0];
    sums[channels + c] += sum[1];
  }
  return {output, sums};
}

template <class Activation>
void check_norm() {
  by_host host(nn::batch_norm<float, Activation>{image});
  auto const l = std::get<nn::geometry::batch_norm>(nn::batch_norm<float, Activation>{image}.geometry().description);
  std::size_t const channels = image.channels;
  floats statistics = laws::drawn_floats(2 * channels, 9);
  std::ranges::for_each(statistics, [](float& s) { s = std::abs(s); });
  host.statistics = statistics;
  host.run();

  auto [unchanged_x, sums] = run_operation(device::norm_sums{statistics.data()}, channels, host.x, host.x);
  sums.push_back(static_cast<float>(host.x.size() / channels));
  floats cache_room(2 * channels + 1);
  device::norm_cache const cache{cache_room.data(), channels};
  for (std::size_t c = 0; c != channels; ++c) {
    device::finish_norm(l, c, sums.data(), statistics.data(), cache);
  }
  BOOST_TEST(relative_error(statistics, host.statistics) < 1e-6);
  device::norm_forward<Activation::kind> const forward{host.parameters.data(), cache};
  BOOST_TEST(relative_error(run_operation(forward, channels, host.x, host.x).first, host.y) < 1e-6);

  device::norm_slopes<Activation::kind> const slopes{forward};
  auto const [dy, slope_sums] = run_operation(slopes, channels, host.x, host.dy);
  floats gradients(2 * channels);
  for (std::size_t c = 0; c != channels; ++c) {
    gradients[c] = slope_sums[channels + c] * cache.spread(c);
    gradients[channels + c] = slope_sums[c];
  }
  BOOST_TEST(relative_error(gradients, host.gradients) < 1e-6);
  device::norm_backward const backward{host.parameters.data(), cache, slope_sums.data()};
  BOOST_TEST(relative_error(run_operation(backward, channels, host.x, dy).first, host.dx) < 1e-6);

  host.forward({});
  device::norm_inference<Activation::kind> const inference{host.parameters.data(), statistics.data(), channels,
                                                           l.epsilon};
  BOOST_TEST(relative_error(run_operation(inference, channels, host.x, host.x).first, host.y) < 1e-6);
}

template <class Activation>
void check_activation() {
  by_host host(nn::dense<float, Activation>(6, 4));
  host.run();
  by_host sums(nn::dense<float>(6, 4));  // computes the activation's inputs
  sums.parameters = host.parameters;
  sums.layer().bind(sums.parameters, sums.gradients, sums.statistics);
  std::fill_n(sums.parameters.begin() + 24, 4, 0.0F);
  sums.run();
  device::bias_and_activation<Activation::kind> const forward{host.parameters.data() + 24};
  BOOST_TEST(relative_error(run_operation(forward, 4, sums.y, sums.y).first, host.y) < 1e-6);
  device::activation_slopes<Activation::kind> const slopes;
  bool const is_single_input = device::activation_slopes<Activation::kind>::inputs == 1;
  auto const slope_sums = run_operation(slopes, 4, is_single_input ? host.dy : host.y, host.dy).second;
  BOOST_TEST(relative_error({slope_sums.begin(), slope_sums.begin() + 4},
                            {host.gradients.begin() + 24, host.gradients.end()}) < 1e-6);
}

template <std::size_t V>
void check_pool(nn::layer_list<float> layer, nn::geometry::pooling const& l, bool with_nan = false) {
  by_host host(std::move(layer));
  for (std::size_t i = 0; i < host.x.size(); i += 3) {
    host.x[i] = 0.5F;  // creates many equal numbers
  }
  if (with_nan) {
    host.x[17] = not_a_number;
    host.x[100] = -not_a_number;
  }
  host.run();
  floats y(host.y.size());
  floats dx(host.x.size(), not_a_number);
  std::vector<device::window_index> indices(y.size());
  bool const largest = l.kind == nn::geometry::pooling_kind::largest;
  for (std::size_t r = 0; r != rows; ++r) {
    std::size_t const input_offset = r * l.input.size();
    std::size_t const output_offset = r * l.output.size();
    for (std::size_t i = 0; i != l.output.rows; ++i) {
      for (std::size_t j = 0; j != l.output.columns; ++j) {
        for (std::size_t c = 0; c != l.output.channels; c += V) {
          if (largest) {
            device::pool_largest<V>(l, i, j, c, host.x.data() + input_offset, y.data() + output_offset,
                                    indices.data() + output_offset);
          } else {
            device::pool_mean<V>(l, i, j, c, host.x.data() + input_offset, y.data() + output_offset);
          }
        }
      }
    }
    for (std::size_t i = 0; i != l.input.rows; ++i) {
      for (std::size_t j = 0; j != l.input.columns; ++j) {
        for (std::size_t c = 0; c != l.input.channels; c += V) {
          device::pool_backward<V>(l, i, j, c, host.dy.data() + output_offset,
                                   largest ? indices.data() + output_offset : nullptr, dx.data() + input_offset);
        }
      }
    }
  }
  if (largest) {
    auto const is_same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    BOOST_TEST(std::ranges::equal(y, host.y, is_same));
    BOOST_TEST(same_bits(dx, host.dx));
  } else {
    BOOST_TEST(relative_error(y, host.y) < 1e-6);
    BOOST_TEST(relative_error(dx, host.dx) < 1e-6);
  }
}

template <class Optimizer>
void check_step(sgd_step const& step, bool velocity = true) {
  constexpr std::size_t count = 1000;
  Optimizer host({{0, count}}, step.momentum, step.decay);
  floats expected = laws::drawn_floats(count, 4);
  floats w = expected;
  floats v(count);
  for (std::uint64_t i = 0; i != 3; ++i) {
    floats const g = laws::drawn_floats(count, 5 + i);
    host.step(expected, g, step.rate);
    for (std::size_t k = 0; k != count; ++k) {
      if (velocity) {
        auto const updated_pair = device::momentum_step{step}(w[k], v[k], g[k]);
        w[k] = updated_pair.first;
        v[k] = updated_pair.second;
      } else {
        w[k] = device::plain_step{step}(w[k], g[k]);
      }
    }
  }
  BOOST_TEST(same_bits(w, expected));
}

}  // namespace

BOOST_AUTO_TEST_CASE(activations_and_their_sums) {
  check_activation<nn::identity>();
  check_activation<nn::relu>();
  check_activation<nn::tanh>();
  check_activation<nn::sigmoid>();
}

BOOST_AUTO_TEST_CASE(batch_norm_in_its_parts) {
  check_norm<nn::identity>();
  check_norm<nn::relu>();
}

BOOST_AUTO_TEST_CASE(pooling_forward_and_backward) {
  for (nn::window const window : {nn::window{2, 2}, nn::window{3, 2, 1}, nn::window{3, 1, 2}, nn::window{2, 3}}) {
    nn::max_pool<float> const largest(image, window);
    check_pool<4>(largest, std::get<nn::geometry::pooling>(largest.geometry().description));
    check_pool<1>(largest, std::get<nn::geometry::pooling>(largest.geometry().description), true);
    nn::average_pool<float> const mean(image, window);
    check_pool<8>(mean, std::get<nn::geometry::pooling>(mean.geometry().description));
  }
  nn::average_pool<float> const global_mean(image);
  check_pool<2>(global_mean, std::get<nn::geometry::pooling>(global_mean.geometry().description));
}

BOOST_AUTO_TEST_CASE(steps_of_sgd_have_the_cpu_s_bits) {
  using lookahead = nn::sgd<float, nn::nesterov>;
  using corrected_sgd = nn::detail::corrected_sgd<float, nn::heavy_ball>;
  using corrected_nesterov = nn::detail::corrected_sgd<float, nn::nesterov>;
  for (float const decay : {0.0F, 0.01F}) {
    check_step<nn::sgd<float>>({0.1F, 0.9F, decay, false, false});
    check_step<lookahead>({0.1F, 0.9F, decay, true, false});
    check_step<nn::sgd<float>>({0.1F, 0, decay, false, false}, false);
    check_step<corrected_sgd>({0.1F, 0.9F, decay, false, true}, decay != 0);
    check_step<corrected_nesterov>({0.1F, 0.9F, decay, true, true}, decay != 0);
  }
}

BOOST_AUTO_TEST_CASE(what_is_dropped_has_the_cpu_s_bits) {
  nn::dropout<float> layer(30, 0.4);
  by_host host(layer);
  host.run();
  nn::random_sequence random(3);
  layer.initialise(random);
  auto const dropout = std::get<nn::geometry::dropout>(layer.geometry().description);
  std::uint64_t const key = nn::random_sequence(dropout.key, host.context.step)();
  floats y(host.y.size());
  for (std::size_t r = 0; r != rows; ++r) {
    for (std::size_t first = 0; first != 30; first += 6) {  // threads begin in the middle of a row, too
      device::dropout_factors factor(dropout, key, host.context.first_row + r, first);
      for (std::size_t c = first; c != first + 6; ++c) {
        y[r * 30 + c] = host.x[r * 30 + c] * factor();
      }
    }
  }
  BOOST_TEST(same_bits(y, host.y));
}

BOOST_AUTO_TEST_CASE(the_loss_of_rows) {
  constexpr std::size_t classes = 10;
  auto scores = nn::matrix<float>::from_shape({rows, classes});
  std::ranges::copy(laws::drawn_floats(scores.size(), 8), scores.begin());
  scores(1, 3) = 200;
  scores(2, 4) = scores(2, 7) = 5;  // the first of equal scores counts
  std::vector<std::uint8_t> const labels{9, 3, 7, 0, 4};
  auto expected = nn::matrix<float>::from_shape({rows, classes});
  auto const view = nn::view<float>(scores.data(), rows, classes);
  for (float const smoothing : {0.0F, 0.1F}) {
    auto const score = nn::softmax_cross_entropy::differentiate<float>(
        view, labels, 0.25F, nn::view<float>(expected.data(), rows, classes), smoothing);
    floats slopes(scores.size(), not_a_number);
    device::row_metrics sum{};
    for (std::size_t r = 0; r != rows; ++r) {
      auto const row_metrics = device::softmax_of_row(device::one_lane{}, classes, scores.data() + r * classes,
                                                      labels[r], {1, 0.25F, smoothing}, slopes.data() + r * classes);
      sum.loss += row_metrics.loss;
      sum.correct += row_metrics.correct;
    }
    BOOST_TEST(sum.correct == score.correct);
    BOOST_TEST(std::abs(sum.loss - score.loss) < 1e-6 * score.loss);
    BOOST_TEST(relative_error(slopes, {expected.begin(), expected.end()}) < 1e-6);
  }

  floats row(classes, 1);
  row[4] = not_a_number;
  auto const nan_score =
      device::softmax_of_row(device::one_lane{}, classes, row.data(), 0, {1, 1, 0}, static_cast<float*>(nullptr));
  BOOST_TEST(std::isnan(nan_score.loss));
}

BOOST_AUTO_TEST_CASE(lanes_agree_on_the_largest) {
  using device::largest_of_row;
  BOOST_TEST(largest_of_row::larger({1, 5}, {1, 2}).at == 2U);
  BOOST_TEST(largest_of_row::larger({1, 2}, {1, 5}).at == 2U);
  BOOST_TEST(largest_of_row::larger({1, 2}, {3, 5}).at == 5U);
  BOOST_TEST(largest_of_row::larger({-INFINITY, 0}, {-INFINITY, 3}).at == 0U);
}

BOOST_AUTO_TEST_CASE(numbers_one_by_one) {
  std::uint32_t overflow = 0;
  device::unscaler const unscale{0.5F, &overflow};
  BOOST_TEST(unscale(3) == 1.5F);
  BOOST_TEST(overflow == 0U);
  static_cast<void>(unscale(std::numeric_limits<float>::infinity()));
  BOOST_TEST(overflow == 1U);
  overflow = 0;
  static_cast<void>(unscale(not_a_number));
  BOOST_TEST(overflow == 1U);
  using number = tutti::bfloat16;
  device::rectifying_adder<number> const rectify;
  BOOST_TEST(float{rectify(number(-1.0F), number(0.5F))} == 0.0F);
  BOOST_TEST(float{rectify(number(1.0F), number(0.5F))} == 1.5F);
  BOOST_TEST(std::isnan(float{rectify(number(not_a_number), number(0.5F))}));
  device::slope_of_rectified<number> const split;
  auto const zero_slope = split(number(0.0F), number(2.0F));
  auto const full_slope = split(number(1.0F), number(2.0F));
  BOOST_TEST((float{zero_slope.first} == 0.0F && float{zero_slope.second} == 0.0F));
  BOOST_TEST((float{full_slope.first} == 2.0F && float{full_slope.second} == 2.0F));
}
