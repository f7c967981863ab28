// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/detail/numbers/exponential.hpp>
#include <tutti/nn/layer/activation.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

namespace nn = tutti::nn;

BOOST_AUTO_TEST_CASE(the_exponential_is_within_two_units_in_the_last_place) {
  double worst = 0;
  for (int i = -870'000; i <= 880'000; ++i) {
    auto const x = static_cast<float>(i) * 1e-4F;
    double const right = std::exp(static_cast<double>(x));
    double const unit = std::ldexp(1.0, std::ilogb(right) - 23);
    worst = std::max(worst, std::abs(static_cast<double>(nn::detail::exponential(x)) - right) / unit);
  }
  BOOST_TEST_MESSAGE("worst error: " << worst << " units in the last place");
  BOOST_TEST(worst <= 2.0);
}

BOOST_AUTO_TEST_CASE(the_exponential_saturates_and_keeps_nan) {
  float const infinity = std::numeric_limits<float>::infinity();
  BOOST_TEST(nn::detail::exponential(0.0F) == 1.0F);
  BOOST_TEST(nn::detail::exponential(-infinity) == nn::detail::exponential(-87.0F));
  BOOST_TEST(nn::detail::exponential(-infinity) < 1e-37F);
  BOOST_TEST(nn::detail::exponential(infinity) == nn::detail::exponential(88.0F));
  BOOST_TEST(std::isfinite(nn::detail::exponential(infinity)));
  BOOST_TEST(std::isnan(nn::detail::exponential(std::nanf(""))));
}

BOOST_AUTO_TEST_CASE(activations_are_the_functions_they_are_named_for) {
  for (int i = -2000; i <= 2000; ++i) {
    auto const x = static_cast<float>(i) * 0.01F;
    double const exact = static_cast<double>(x);
    BOOST_TEST(std::abs(static_cast<double>(nn::tanh::value(x)) - std::tanh(exact)) < std::ldexp(1.0, -22));
    BOOST_TEST(nn::tanh::value(x) == -nn::tanh::value(-x));
    BOOST_TEST(std::abs(static_cast<double>(nn::sigmoid::value(x)) - 1 / (1 + std::exp(-exact))) <
               std::ldexp(1.0, -22));
    BOOST_TEST(nn::relu::value(x) == std::max(x, 0.0F));
    BOOST_TEST(nn::identity::value(x) == x);
  }
  for (float const far : {-1e30F, 1e30F}) {
    BOOST_TEST(nn::tanh::value(far) == std::copysign(1.0F, far));
    BOOST_TEST(std::abs(nn::sigmoid::value(far) - (far > 0 ? 1.0F : 0.0F)) < 1e-30F);
  }
}

BOOST_AUTO_TEST_CASE(no_activation_hides_a_nan) {
  float const nan = std::nanf("");
  BOOST_TEST(std::isnan(nn::relu::value(nan)));
  BOOST_TEST(std::isnan(nn::tanh::value(nan)));
  BOOST_TEST(std::isnan(nn::sigmoid::value(nan)));
}
