// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE nn_gradients
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/nn/mlp.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace nn = tutti::nn;

namespace {

constexpr std::size_t rows = 5;
constexpr std::array<std::uint8_t, rows> labels{0, 2, 1, 3, 2};

nn::matrix<double> random_matrix(std::size_t columns, std::uint64_t seed) {
  nn::matrix<double> m({rows, columns});
  nn::random_sequence random(seed);
  std::generate(m.begin(), m.end(), [&] { return 2 * random.fraction<double>() - 1; });
  return m;
}

/// The derivative of f by x, to about 1e-10 of f's size.
template <class F>
double central_difference(double& x, F f) {
  double const step = 1e-5;
  double const middle = x;
  x = middle + step;
  double const above = f();
  x = middle - step;
  double const below = f();
  x = middle;
  return (above - below) / (2 * step);
}

/// The layer alone, with the loss sum(weight * y).
template <class Activation>
void check_layer() {
  nn::dense<double, Activation> layer(4, 3);
  std::vector<double> parameters(layer.parameters());
  std::vector<double> gradients(layer.parameters(), 99.0);  // to be overwritten, not added to
  layer.bind(parameters, gradients);
  nn::random_sequence random(3);
  layer.initialise(random);
  std::generate(parameters.end() - 3, parameters.end(), [&] { return random.fraction<double>() - 0.5; });
  auto x = random_matrix(4, 1);
  auto const weight = random_matrix(3, 2);
  nn::matrix<double> y({rows, 3});
  auto const input = [&] { return nn::view<double const>(x.data(), rows, 4); };
  auto const loss = [&] {
    layer.forward(input(), nn::first_rows(y, rows));
    double sum = 0;
    for (std::size_t i = 0; i != y.size(); ++i) {
      sum += weight.data()[i] * y.data()[i];
    }
    return sum;
  };
  loss();
  auto dy = weight;
  nn::matrix<double> dx({rows, 4});
  layer.backward(input(), nn::first_rows(y, rows), nn::first_rows(dy, rows), nn::first_rows(dx, rows));
  auto const found = gradients;
  for (std::size_t i = 0; i != parameters.size(); ++i) {
    BOOST_TEST(std::abs(found[i] - central_difference(parameters[i], loss)) < 1e-8, "parameter " << i);
  }
  for (std::size_t i = 0; i != x.size(); ++i) {
    BOOST_TEST(std::abs(dx.data()[i] - central_difference(x.data()[i], loss)) < 1e-8, "input " << i);
  }
}

template <class T>
T mean_loss(nn::model<T>& model, nn::matrix<T>& x) {
  return nn::softmax_cross_entropy::measure<T>(model.forward(nn::read_only<T>(nn::first_rows(x, rows))), labels).loss /
         static_cast<T>(rows);
}

template <class T>
void differentiate(nn::model<T>& model, nn::matrix<T>& x) {
  auto const input = nn::read_only<T>(nn::first_rows(x, rows));
  auto const predictions = model.forward(input);
  nn::softmax_cross_entropy::differentiate<T>(predictions, labels, T{1} / static_cast<T>(rows), model.derivatives());
  model.backward(input);
}

constexpr std::array<std::size_t, 2> hidden{5, 6};

}  // namespace

BOOST_AUTO_TEST_CASE(identity_layer) {
  check_layer<nn::identity>();
}

BOOST_AUTO_TEST_CASE(relu_layer) {
  check_layer<nn::relu>();
}

BOOST_AUTO_TEST_CASE(tanh_layer) {
  check_layer<nn::tanh>();
}

BOOST_AUTO_TEST_CASE(sigmoid_layer) {
  check_layer<nn::sigmoid>();
}

BOOST_AUTO_TEST_CASE(whole_models_with_the_loss) {
  for (auto const kind : {nn::hidden_activation::relu, nn::hidden_activation::tanh, nn::hidden_activation::sigmoid}) {
    auto model = nn::mlp<double>(7, hidden, 4, kind);
    model.initialise(5);
    auto x = random_matrix(7, 6);
    differentiate(model, x);
    std::vector<double> const found(model.gradients().begin(), model.gradients().end());
    BOOST_TEST(std::ranges::any_of(found, [](double g) { return std::abs(g) > 1e-3; }));
    for (std::size_t i = 0; i != found.size(); ++i) {
      double const right = central_difference(model.parameters()[i], [&] { return mean_loss(model, x); });
      BOOST_TEST(std::abs(found[i] - right) < 1e-8, nn::name(kind) << ", parameter " << i);
    }
  }
}

BOOST_AUTO_TEST_CASE(float_models_follow_double_ones) {
  for (auto const kind : {nn::hidden_activation::relu, nn::hidden_activation::tanh, nn::hidden_activation::sigmoid}) {
    auto exact = nn::mlp<double>(7, hidden, 4, kind);
    auto model = nn::mlp<float>(7, hidden, 4, kind);
    model.initialise(5);
    std::ranges::copy(model.parameters(), exact.parameters().begin());
    nn::matrix<double> x = random_matrix(7, 6);
    nn::matrix<float> narrow({rows, 7});
    std::transform(x.begin(), x.end(), narrow.begin(), [](double v) { return static_cast<float>(v); });
    std::copy(narrow.begin(), narrow.end(), x.begin());
    differentiate(exact, x);
    differentiate(model, narrow);
    for (std::size_t i = 0; i != exact.gradients().size(); ++i) {
      BOOST_TEST(std::abs(static_cast<double>(model.gradients()[i]) - exact.gradients()[i]) < 3e-6,
                 nn::name(kind) << ", parameter " << i);
    }
  }
}
