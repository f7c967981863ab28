// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/optimizer/lars.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace nn = tutti::nn;

namespace {

/// Layers of these sizes, one after the other.
std::vector<nn::parameter_range> layers_of(std::vector<std::size_t> const& sizes) {
  std::vector<nn::parameter_range> result;
  std::size_t offset = 0;
  for (std::size_t const size : sizes) {
    result.push_back({offset, size});
    offset += size;
  }
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(follows_the_algorithm_layer_by_layer) {
  std::vector<std::size_t> const sizes{7, 1, 1001, 16, 64};
  std::size_t const count = 1089;
  for (double const momentum : {0.0, 0.9}) {
    for (double const decay : {0.0, 0.03125}) {
      nn::lars<float> optimizer(layers_of(sizes), {static_cast<float>(momentum), static_cast<float>(decay), 0.0625F});
      nn::random_sequence random(3);
      std::vector<float> w(count);
      for (auto& weight : w) {
        weight = random.fraction<float>() - 0.5F;
      }
      std::fill(w.begin() + 7, w.begin() + 8, 0.0F);  // a layer that starts from zero
      std::vector<double> right(w.begin(), w.end());
      std::vector<double> v(count);
      for (int step = 0; step != 20; ++step) {
        double const rate = step < 10 ? 0.5 : 0.25;
        std::vector<float> g(count);
        for (std::size_t i = 0; i != count; ++i) {
          g[i] = (random.fraction<float>() - 0.5F) * (i < 100 ? 100.0F : 0.01F);
        }
        if (step == 5) {
          std::fill(g.begin() + 1009, g.begin() + 1025, 0.0F);  // a layer without a gradient
        }
        std::size_t at = 0;
        for (std::size_t const size : sizes) {
          double weights = 0;
          double gradients = 0;
          for (std::size_t i = at; i != at + size; ++i) {
            weights += right[i] * right[i];
            gradients += double{g[i]} * double{g[i]};
          }
          weights = std::sqrt(weights);
          gradients = std::sqrt(gradients);
          double const local = weights > 0 && gradients > 0 ? 0.0625 * weights / (gradients + decay * weights) : 1.0;
          for (std::size_t i = at; i != at + size; ++i) {
            v[i] = momentum * v[i] + rate * local * (double{g[i]} + decay * right[i]);
            right[i] -= v[i];
          }
          at += size;
        }
        optimizer.step(w, g, static_cast<float>(rate));
      }
      double worst = 0;
      for (std::size_t i = 0; i != count; ++i) {
        worst = std::max(worst, std::abs(double{w[i]} - right[i]) / (1 + std::abs(right[i])));
      }
      BOOST_TEST(worst < 2e-5, "momentum " << momentum << ", decay " << decay);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_step_is_a_share_of_the_layers_weights_whatever_the_gradient) {
  for (float const size : {1e-3F, 1.0F, 1e3F}) {
    std::vector<float> w{3, 4};  // the norm is 5
    nn::lars<float> optimizer(layers_of({2}), {0.0F, 0.0F, 0.01F});
    optimizer.step(w, std::vector<float>{0.6F * size, -0.8F * size}, 0.5F);
    BOOST_TEST(std::abs(w[0] - (3 - 0.5F * 0.01F * 5 * 0.6F)) < 1e-6F);
    BOOST_TEST(std::abs(w[1] - (4 + 0.5F * 0.01F * 5 * 0.8F)) < 1e-6F);
  }
}

BOOST_AUTO_TEST_CASE(what_does_not_decay_is_not_adapted) {
  std::vector<float> const g{0.6F, -0.8F, 0.5F};
  std::vector<float> parameters{3, 4, 5};
  nn::lars<float> optimizer({{0, 3, 1}}, {0.9F, 0.5F, 0.01F});
  std::vector<float> weights{3, 4};
  nn::lars<float> of_weights({{0, 2}}, {0.9F, 0.5F, 0.01F});
  float bias = 5;
  float velocity = 0;
  for (int step = 0; step != 5; ++step) {
    optimizer.step(parameters, g, 0.5F);
    of_weights.step(weights, std::span(g).first(2), 0.5F);
    velocity = 0.9F * velocity + 0.5F * g[2];
    bias -= velocity;
  }
  BOOST_TEST(parameters[0] == weights[0]);
  BOOST_TEST(parameters[1] == weights[1]);
  BOOST_TEST(parameters[2] == bias);
}

BOOST_AUTO_TEST_CASE(a_layer_does_not_depend_on_its_place) {
  // Results that depend on alignment would make replicas drift apart.
  std::vector<float> const g{0.3F, -0.7F, 0.011F, 0.2F, 0.5F, -0.1F, 0.9F, 0.77F, -0.3F, 0.123F};
  for (std::size_t offset = 1; offset != 19; ++offset) {
    nn::lars<float> large(layers_of({offset, g.size(), 40 - offset - g.size()}), {});
    nn::lars<float> small(layers_of({g.size()}), {});
    std::vector<float> weights(40, 0.1F);
    std::vector<float> gradients(40, 0.2F);
    std::vector<float> single_weights(g.size(), 0.1F);
    std::copy(g.begin(), g.end(), gradients.begin() + static_cast<std::ptrdiff_t>(offset));
    for (int step = 0; step != 5; ++step) {
      large.step(weights, gradients, 0.1F);
      small.step(single_weights, g, 0.1F);
    }
    BOOST_TEST(std::memcmp(weights.data() + offset, single_weights.data(), g.size() * sizeof(float)) == 0);
  }
}

BOOST_AUTO_TEST_CASE(mistakes_are_refused) {
  using coefficients = nn::lars<float>::coefficients;
  auto const expect_refusal = [](std::vector<nn::parameter_range> layers, coefficients values) {
    BOOST_CHECK_THROW(nn::lars<float>(std::move(layers), values), tutti::precondition_error);
  };
  expect_refusal({{0, 2}, {3, 1}}, {});  // a gap
  expect_refusal({{0, 2}, {1, 1}}, {});
  expect_refusal({{0, 2}}, {1.0F, 0.0F, 0.001F});
  expect_refusal({{0, 2}}, {0.9F, -1.0F, 0.001F});
  expect_refusal({{0, 2}}, {0.9F, 0.0F, 0.0F});
  nn::lars<float> optimizer(layers_of({2, 1}), {});
  std::vector<float> w(3);
  std::vector<float> g(2);
  BOOST_CHECK_THROW(optimizer.step(w, g, 0.1F), tutti::precondition_error);
}
