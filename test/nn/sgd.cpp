// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/optimizer/sgd.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace nn = tutti::nn;

namespace {

/// Checks 20 steps against the rule in double. `direction` computes a step from gradient, new velocity and momentum.
template <class Optimizer, class Direction>
void check_rule(Direction direction) {
  for (std::size_t const count : {1U, 7U, 64U, 1001U}) {
    for (double const momentum : {0.0, 0.5, 0.9}) {
      for (double const decay : {0.0, 0.25}) {
        nn::random_sequence random(count);
        std::vector<float> w(count, 0.5F);
        std::vector<double> right(count, 0.5);
        std::vector<double> v(count);
        Optimizer optimizer(count, static_cast<float>(momentum), static_cast<float>(decay));
        for (int step = 0; step != 20; ++step) {
          std::vector<float> g(count);
          float const rate = step < 10 ? 0.125F : 0.0625F;  // velocities are not scaled by the rate
          for (std::size_t i = 0; i != count; ++i) {
            g[i] = random.fraction<float>() - 0.5F;
            double const slope = double{g[i]} + decay * right[i];
            v[i] = momentum * v[i] + slope;
            right[i] -= double{rate} * direction(slope, v[i], momentum);
          }
          optimizer.step(w, g, rate);
        }
        double worst = 0;
        for (std::size_t i = 0; i != count; ++i) {
          worst = std::max(worst, std::abs(double{w[i]} - right[i]));
        }
        BOOST_TEST(worst < 1e-5, count << " weights, momentum " << momentum << ", decay " << decay);
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(heavy_ball_follows_the_scalar_rule) {
  check_rule<nn::sgd<float>>([](double, double v, double) { return v; });
}

BOOST_AUTO_TEST_CASE(nesterov_follows_the_scalar_rule) {
  check_rule<nn::sgd<float, nn::nesterov>>([](double g, double v, double m) { return g + m * v; });
}

BOOST_AUTO_TEST_CASE(nesterov_is_the_gradient_at_the_point_ahead) {
  // The original form: v = m v - rate f'(x + m v), x = x + v. Our weights stand for x + m v.
  double x = 1;
  double v = 0;
  double const m = 0.9;
  std::vector<float> w{1};
  nn::sgd<float, nn::nesterov> optimizer(1, 0.9F);
  for (int step = 0; step != 30; ++step) {  // f = 2 w^2
    v = m * v - 0.05 * 4 * (x + m * v);
    x += v;
    optimizer.step(w, std::vector<float>{4 * w[0]}, 0.05F);
    BOOST_TEST(std::abs(double{w[0]} - (x + m * v)) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(an_element_does_not_depend_on_its_place) {
  // Results that depend on alignment would make replicas drift apart.
  std::vector<float> const g{0.3F, -0.7F, 0.011F};
  for (std::size_t offset = 0; offset != 19; ++offset) {
    std::vector<float> weights(40, 0.1F);
    std::vector<float> gradients(40, 0.2F);
    std::vector<float> single_weights(3, 0.1F);
    std::copy(g.begin(), g.end(), gradients.begin() + static_cast<std::ptrdiff_t>(offset));
    nn::sgd<float> large(40, 0.9F);
    nn::sgd<float> small(3, 0.9F);
    for (int step = 0; step != 5; ++step) {
      large.step(weights, gradients, 0.1F);
      small.step(single_weights, g, 0.1F);
    }
    for (std::size_t i = 0; i != 3; ++i) {
      BOOST_TEST(weights[offset + i] == single_weights[i]);
    }
  }
}

BOOST_AUTO_TEST_CASE(mistakes_are_refused) {
  BOOST_CHECK_THROW(nn::sgd<float>(3, 1.0F), tutti::precondition_error);
  BOOST_CHECK_THROW(nn::sgd<float>(3, -0.1F), tutti::precondition_error);
  BOOST_CHECK_THROW(nn::sgd<float>(3, 0.9F, -0.1F), tutti::precondition_error);
  nn::sgd<float> optimizer(3, 0.9F);
  std::vector<float> w(3);
  std::vector<float> g(2);
  BOOST_CHECK_THROW(optimizer.step(w, g, 0.1F), tutti::precondition_error);
}
