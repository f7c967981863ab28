// SPDX-License-Identifier: Apache-2.0
// test: address optimised
#include <nn/layer_laws.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/dropout.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/layer/residual.hpp>
#include <tutti/nn/layer/weight_norm.hpp>

#include <barrier>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

// Promises of layers beyond their laws: values that depend on the batch, the step or the ranks.

namespace nn = tutti::nn;

namespace {

/// A sum over two ranks that are threads.
class two_ranks {
 public:
  class rank {
   public:
    rank(two_ranks& ranks, std::size_t me) : ranks_(ranks), me_(me) {}
    void sum(std::span<double> numbers) {
      ranks_.part_[me_].assign(numbers.begin(), numbers.end());
      ranks_.meeting_.arrive_and_wait();
      for (std::size_t i = 0; i != numbers.size(); ++i) {
        numbers[i] = ranks_.part_[0][i] + ranks_.part_[1][i];
      }
      ranks_.meeting_.arrive_and_wait();
    }

   private:
    two_ranks& ranks_;
    std::size_t me_;
  };

 private:
  std::barrier<> meeting_{2};
  std::vector<double> part_[2];
};

constexpr nn::image_shape image{3, 2, 2};

nn::matrix_view<double> part_of(nn::matrix<double>& m, std::size_t first, std::size_t count) {
  return nn::view<double>(m.data() + first * m.shape(1), count, m.shape(1));
}

}  // namespace

BOOST_AUTO_TEST_CASE(synchronised_batch_norm_is_that_of_the_whole_batch) {
  auto const make = [] { return nn::batch_norm<double, nn::relu>(image); };
  laws::single_layer<double> whole(make());
  whole.loss();
  whole.backward();

  two_ranks world;
  laws::single_layer<double> parts[]{laws::single_layer<double>(make()), laws::single_layer<double>(make())};
  auto const run = [&](std::size_t me) {  // the first rank has two of the five rows
    two_ranks::rank rank(world, me);
    auto& part = parts[me];
    part.context.sum = nn::rank_sum<double>(rank);
    std::size_t const first = me * 2;
    std::size_t const count = 2 + me;
    auto const x = nn::read_only<double>(part_of(part.x, first, count));
    part.layer().forward(part.context, x, part_of(part.y, first, count));
    auto dy = part.weight;
    part.layer().backward(part.context, x, part_of(part.y, first, count), part_of(dy, first, count),
                          part_of(part.dx, first, count));
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  for (std::size_t me = 0; me != 2; ++me) {
    std::size_t const first = me * 2;
    std::size_t const count = 2 + me;
    BOOST_TEST(laws::distance(part_of(parts[me].y, first, count), part_of(whole.y, first, count)) < 1e-12);
    BOOST_TEST(laws::distance(part_of(parts[me].dx, first, count), part_of(whole.dx, first, count)) < 1e-12);
    BOOST_TEST(laws::distance(parts[me].statistics, whole.statistics) < 1e-12);
  }
  for (std::size_t i = 0; i != whole.gradients.size(); ++i) {
    parts[0].gradients[i] += parts[1].gradients[i];  // the sum of both ranks' gradients
  }
  BOOST_TEST(laws::distance(parts[0].gradients, whole.gradients) < 1e-12);
}

BOOST_AUTO_TEST_CASE(batch_norm_gives_mean_0_and_variance_1_and_learns_both) {
  laws::single_layer<double> layer{nn::batch_norm<double>(image)};
  std::ranges::fill(std::span(layer.parameters).first(3), 1.0);
  std::ranges::fill(std::span(layer.parameters).last(3), 0.0);
  for (double& number : layer.x) {
    number = 1e4 + 3 * number;
  }
  for (int i = 0; i != 400; ++i) {
    layer.loss();
  }
  constexpr double count = laws::rows * 4;
  for (std::size_t c = 0; c != 3; ++c) {
    double sum = 0;
    double squares = 0;
    double mean = 0;
    double variance = 0;
    for (std::size_t i = c; i < layer.y.size(); i += 3) {
      sum += layer.y.data()[i];
      squares += layer.y.data()[i] * layer.y.data()[i];
      mean += layer.x.data()[i] / count;
    }
    for (std::size_t i = c; i < layer.y.size(); i += 3) {
      variance += (layer.x.data()[i] - mean) * (layer.x.data()[i] - mean) / (count - 1);
    }
    BOOST_TEST(std::abs(sum) < 1e-8);
    BOOST_TEST(std::abs(squares / count - 1) < 1e-4);  // differs by epsilon
    BOOST_TEST(std::abs(layer.statistics[c] - mean) < 1e-8);
    BOOST_TEST(std::abs(layer.statistics[3 + c] - variance) < 1e-8);
  }
}

BOOST_AUTO_TEST_CASE(dropout_is_a_function_of_layer_step_and_place_in_the_batch_of_all_ranks) {
  auto const make = [](std::uint64_t seed) {
    nn::dropout<double> layer(40, 0.25);
    nn::random_sequence random(seed);
    layer.initialise(random);
    layer.reserve(1000);
    return layer;
  };
  auto const forward = [](auto& layer, std::size_t rows, std::uint64_t step, std::size_t first) {
    auto x = nn::matrix<double>::from_shape({rows, 40});
    x.fill(1.0);
    auto y = x;
    layer.forward({true, step, first, {}}, nn::read_only<double>(nn::first_rows(x, rows)), nn::first_rows(y, rows));
    return y;
  };
  auto layer = make(1);
  auto const outputs = forward(layer, 1000, 5, 0);
  double sum = 0;
  for (double const number : outputs) {
    BOOST_TEST((number == 0 || std::abs(number - 4.0 / 3) < 1e-12));
    sum += number;
  }
  BOOST_TEST(std::abs(sum / 40'000 - 1) < 0.02);

  auto const last = forward(layer, 10, 5, 990);  // the shard of the last rank
  BOOST_TEST(laws::distance(last, nn::view<double const>(outputs.data() + 990 * 40, 10, 40)) == 0);
  BOOST_TEST(laws::distance(forward(layer, 1000, 6, 0), outputs) != 0);
  auto again = make(1);
  auto other = make(2);
  BOOST_TEST(laws::distance(forward(again, 1000, 5, 0), outputs) == 0);
  BOOST_TEST(laws::distance(forward(other, 1000, 5, 0), outputs) != 0);
}

BOOST_AUTO_TEST_CASE(max_pool_hides_no_nan) {
  nn::max_pool<float> layer({1, 2, 2}, {2, 2});
  layer.reserve(1);
  for (std::size_t at = 0; at != 4; ++at) {
    float x[] = {1, 2, 3, 4};
    float y = 0;
    x[at] = std::numeric_limits<float>::quiet_NaN();
    layer.forward({}, nn::view<float const>(x, 1, 4), nn::view<float>(&y, 1, 1));
    BOOST_TEST(std::isnan(y), at);
  }
}

BOOST_AUTO_TEST_CASE(layers_that_cannot_be_are_refused) {
  using tutti::precondition_error;
  BOOST_CHECK_THROW(nn::conv2d<float>({3, 4, 4}, {.channels = 4, .filter_window = {3}, .groups = 2}),
                    precondition_error);
  BOOST_CHECK_THROW(nn::conv2d<float>({4, 4, 4}, {.channels = 3, .filter_window = {3}, .groups = 2}),
                    precondition_error);
  BOOST_CHECK_THROW(nn::conv2d<float>({1, 4, 4}, {.channels = 1, .filter_window = {5}}), precondition_error);
  BOOST_CHECK_THROW(nn::max_pool<float>({1, 4, 4}, {2, 0}), precondition_error);
  BOOST_CHECK_THROW(nn::max_pool<float>({1, 4, 4}, {2, 2, 2}), precondition_error);
  BOOST_CHECK_THROW(nn::dropout<float>(4, 1.0), precondition_error);
  BOOST_CHECK_THROW(nn::weight_norm<float>(nn::dropout<float>(4, 0.5)), precondition_error);
  BOOST_CHECK_THROW(nn::residual<float>(nn::dense<float>(4, 3)), precondition_error);
}

BOOST_AUTO_TEST_CASE(layers_in_braces_are_the_body_of_a_residual) {
  nn::dense<float> const layer(4, 4);
  BOOST_TEST(nn::residual<float>({layer}).parameters() == layer.parameters());
  BOOST_TEST(nn::residual<float>({layer, layer}).parameters() == 2 * layer.parameters());
  BOOST_TEST(nn::residual<float>({layer}, {layer}).parameters() == 2 * layer.parameters());
}
