// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE nn_sgd
#include <tutti/nn/optimizer/sgd.hpp>
#include <tutti/nn/random.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <vector>

namespace nn = tutti::nn;

BOOST_AUTO_TEST_CASE(follows_the_scalar_rule) {
  for (std::size_t const count : {1U, 7U, 64U, 1001U}) {
    for (double const momentum : {0.0, 0.5, 0.9}) {
      nn::random_sequence random(count);
      std::vector<float> w(count);
      std::vector<double> right(count);
      std::vector<double> v(count);
      nn::sgd<float> optimizer(count, static_cast<float>(momentum));
      for (int step = 0; step != 20; ++step) {
        std::vector<float> g(count);
        for (std::size_t i = 0; i != count; ++i) {
          g[i] = random.fraction<float>() - 0.5F;
          v[i] = momentum * v[i] + double{g[i]};
          right[i] -= 0.125 * v[i];
        }
        optimizer.step(w, g, 0.125F);
      }
      for (std::size_t i = 0; i != count; ++i) {
        BOOST_TEST(std::abs(double{w[i]} - right[i]) < 1e-5);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_element_does_not_depend_on_its_place) {
  // or else replicas whose vectors are aligned differently would drift apart
  std::vector<float> const g{0.3F, -0.7F, 0.011F};
  for (std::size_t offset = 0; offset != 19; ++offset) {
    std::vector<float> weights(40, 0.1F);
    std::vector<float> gradients(40, 0.2F);
    std::vector<float> alone(3, 0.1F);
    std::copy(g.begin(), g.end(), gradients.begin() + static_cast<std::ptrdiff_t>(offset));
    nn::sgd<float> large(40, 0.9F);
    nn::sgd<float> small(3, 0.9F);
    for (int step = 0; step != 5; ++step) {
      large.step(weights, gradients, 0.1F);
      small.step(alone, g, 0.1F);
    }
    for (std::size_t i = 0; i != 3; ++i) {
      BOOST_TEST(weights[offset + i] == alone[i]);
    }
  }
}

BOOST_AUTO_TEST_CASE(mistakes_are_refused) {
  BOOST_CHECK_THROW(nn::sgd<float>(3, 1.0F), tutti::precondition_error);
  BOOST_CHECK_THROW(nn::sgd<float>(3, -0.1F), tutti::precondition_error);
  nn::sgd<float> optimizer(3, 0.9F);
  std::vector<float> w(3);
  std::vector<float> g(2);
  BOOST_CHECK_THROW(optimizer.step(w, g, 0.1F), tutti::precondition_error);
}
