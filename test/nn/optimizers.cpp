// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <nn/plain_step.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/detail/optimizer/corrected_sgd.hpp>
#include <tutti/nn/detail/optimizer/decay_runs.hpp>
#include <tutti/nn/optimizer/adam.hpp>
#include <tutti/nn/optimizer/make_optimizer.hpp>
#include <tutti/nn/optimizer/sgd.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
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

namespace {

/// Checks 50 steps of adam against its definition in double.
template <class Decay>
void check_adam(bool is_decoupled) {
  constexpr std::size_t count = 1001;
  for (double const decay : {0.0, 0.0625}) {
    nn::adam<float, Decay> optimizer({{0, count}}, {0.875F, 0.96875F, 0.001F, static_cast<float>(decay)});
    std::vector<float> w(count, 0.5F);
    std::vector<double> right(count, 0.5);
    std::vector<double> m(count);
    std::vector<double> v(count);
    for (int step = 1; step != 51; ++step) {
      auto const g = support::random_numbers(count, 1, static_cast<std::uint64_t>(step));
      double const rate = step < 10 ? 0.125 : 0.03125;
      for (std::size_t i = 0; i != count; ++i) {
        double const slope = double{g[i]} + (is_decoupled ? 0 : decay * right[i]);
        m[i] = 0.875 * m[i] + 0.125 * slope;
        v[i] = 0.96875 * v[i] + 0.03125 * slope * slope;
        double const mean = m[i] / (1 - std::pow(0.875, step));
        double const square = v[i] / (1 - std::pow(0.96875, step));
        right[i] -= rate * (is_decoupled ? decay * right[i] : 0) + rate * mean / (std::sqrt(square) + 0.001);
      }
      optimizer.step(w, g, static_cast<float>(rate));
    }
    double worst = 0;
    for (std::size_t i = 0; i != count; ++i) {
      worst = std::max(worst, std::abs(double{w[i]} - right[i]));
    }
    BOOST_TEST(worst < 1e-5, "decay " << decay);
  }
}

struct named_settings {
  std::string name;
  nn::settings values;
};

/// The settings of every optimizer.
std::vector<named_settings> all_optimizers() {
  std::vector<named_settings> result;
  for (auto const kind : {nn::optimizer_kind::sgd, nn::optimizer_kind::nesterov, nn::optimizer_kind::lars,
                          nn::optimizer_kind::adam, nn::optimizer_kind::adamw}) {
    nn::settings s;
    s.optimizer = kind;
    s.weight_decay = 0.25F;
    result.push_back({std::string(nn::name(kind)), s});
    if (kind == nn::optimizer_kind::sgd || kind == nn::optimizer_kind::nesterov) {
      s.momentum_corrected = true;
      result.push_back({std::string(nn::name(kind)) + ", corrected", s});
    }
  }
  return result;
}

/// Weights after some steps with random gradients.
std::vector<float> weights_after(nn::optimizer<float>& optimizer, std::vector<float> weights, std::uint64_t first,
                                 std::uint64_t steps = 5) {
  for (std::uint64_t step = first; step != first + steps; ++step) {
    optimizer.step(weights, support::random_numbers(weights.size(), 3, step), 0.1F);
  }
  return weights;
}

}  // namespace

BOOST_AUTO_TEST_CASE(adam_follows_its_definition) {
  check_adam<nn::loss_decay>(false);
  check_adam<nn::decoupled_decay>(true);
}

BOOST_AUTO_TEST_CASE(adam_s_first_steps_are_of_the_rate_whatever_the_gradient) {
  for (float const size : {1e-4F, 1.0F, 1e4F}) {
    std::vector<float> w{1, 1};
    nn::adam<float> optimizer({{0, 2}}, {});
    optimizer.step(w, std::vector<float>{size, -size}, 0.01F);
    BOOST_TEST(std::abs(w[0] - 0.99F) < 2e-6F);
    BOOST_TEST(std::abs(w[1] - 1.01F) < 2e-6F);
  }
}

BOOST_AUTO_TEST_CASE(biases_do_not_decay_unless_all_parameters_do) {
  // Weights, normalisation, then weights with a bias.
  std::vector<nn::parameter_range> const layers{{0, 40}, {40, 24, 24}, {64, 17}, {81, 50, 5}};
  auto const decays = [](std::size_t i) { return i < 40 || (i >= 64 && i < 126); };
  auto const initial = support::random_numbers(131, 2, 0);
  for (auto& [name, s] : all_optimizers()) {
    auto const by_default = weights_after(*nn::make_optimizer(s, layers), initial, 0);
    s.decays_all = true;
    auto const with_all = weights_after(*nn::make_optimizer(s, layers), initial, 0);
    BOOST_TEST(
        (weights_after(*nn::make_optimizer(s, {{0, 40}, {40, 24}, {64, 17}, {81, 50}}), initial, 0) == with_all));
    s.weight_decay = 0;
    auto const without_decay = weights_after(*nn::make_optimizer(s, layers), initial, 0);
    if (s.optimizer == nn::optimizer_kind::lars) {
      continue;  // depends on norms of layers
    }
    for (std::size_t i = 0; i != initial.size(); ++i) {
      BOOST_REQUIRE_MESSAGE(by_default[i] == (decays(i) ? with_all : without_decay)[i], name << ", parameter " << i);
      BOOST_REQUIRE_MESSAGE(with_all[i] != without_decay[i], name << ", parameter " << i);
    }
  }
}

BOOST_AUTO_TEST_CASE(another_optimizer_goes_on_from_the_weights_and_the_state) {
  std::vector<nn::parameter_range> const layers{{0, 30, 5}, {30, 50}};
  auto const initial = support::random_numbers(80, 2, 0);
  for (auto const& [name, s] : all_optimizers()) {
    auto const first = nn::make_optimizer(s, layers);
    auto const second = nn::make_optimizer(s, layers);
    BOOST_TEST(std::ranges::count(second->state(), 0.0F) == static_cast<std::ptrdiff_t>(second->state().size()), name);
    auto const middle = weights_after(*first, initial, 0);
    std::ranges::copy(first->state(), second->state().begin());
    BOOST_TEST((weights_after(*first, middle, 5) == weights_after(*second, middle, 5)), name);
  }
}

BOOST_AUTO_TEST_CASE(settings_that_do_not_fit_are_refused) {
  auto const refusal = [](auto change) -> std::string {
    nn::settings s;
    change(s);
    try {
      static_cast<void>(nn::make_optimizer(s, {{0, 4}}));
    } catch (tutti::precondition_error const& e) {
      return e.what();
    }
    return "";
  };
  auto const expect = [](std::string const& text, std::string const& part) {
    BOOST_TEST((text.find(part) != text.npos), text);
  };
  using kind = nn::optimizer_kind;
  for (auto const other : {kind::lars, kind::adam, kind::adamw}) {
    expect(refusal([other](nn::settings& s) { s.optimizer = other, s.momentum_corrected = true; }),
           std::string(nn::name(other)) + " has no momentum correction");
  }
  expect(refusal([](nn::settings& s) { s.clip_norm = 1, s.momentum_corrected = true; }), "give local_clipping");
  expect(refusal([](nn::settings& s) { s.optimizer = static_cast<kind>(99); }), "there is no kind 99");
  expect(refusal([](nn::settings& s) { s.optimizer = kind::adam, s.beta1 = 1; }), "beta1 and beta2 must be in [0, 1)");
  expect(refusal([](nn::settings& s) { s.optimizer = kind::adam, s.beta2 = -1; }), "beta1 and beta2 must be in [0, 1)");
  expect(refusal([](nn::settings& s) { s.optimizer = kind::adamw, s.epsilon = 0; }), "epsilon must be above 0");
  expect(refusal([](nn::settings& s) { s.optimizer = kind::adamw, s.weight_decay = -1; }), "weight decay must be 0");
  BOOST_TEST(refusal([](nn::settings&) {}).empty());
  nn::adam<float> optimizer({{0, 3}}, {});
  std::vector<float> w(3);
  BOOST_CHECK_THROW(optimizer.step(w, std::vector<float>(2), 0.1F), tutti::precondition_error);
  BOOST_CHECK_THROW(nn::sgd<float>({{0, 3, 4}}, 0.9F), tutti::precondition_error);
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

BOOST_AUTO_TEST_CASE(parameters_of_equal_decay_are_neighbours) {
  using runs = std::vector<nn::detail::decay_run<float>>;
  auto const equal = [](runs const& a, runs const& b) {
    return std::ranges::equal(a, b, [](auto const& x, auto const& y) {
      return x.first == y.first && x.size == y.size && x.decay == y.decay;
    });
  };
  // Weights and biases of two layers, a layer that decays whole, and one that does not.
  std::vector<nn::parameter_range> const layers{{0, 12, 2}, {12, 6, 1}, {18, 4, 0}, {22, 3, 3}};
  BOOST_TEST(equal(nn::detail::decay_runs(layers, 0.5F),
                   {{0, 10, 0.5F}, {10, 2, 0}, {12, 5, 0.5F}, {17, 1, 0}, {18, 4, 0.5F}, {22, 3, 0}}));
  BOOST_TEST(equal(nn::detail::decay_runs(nn::detail::decaying_ranges(layers, true), 0.5F), {{0, 25, 0.5F}}));
  BOOST_TEST(equal(nn::detail::decay_runs(layers, 0.0F), {{0, 25, 0}}));
  BOOST_CHECK_THROW((void)nn::detail::decay_runs<float>({{0, 2, 0}, {3, 1, 0}}, 0.5F), tutti::precondition_error);
}
