// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/extend/layer_list.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

/// The laws of layers (nn/extend/layer.hpp).
namespace laws {

namespace nn = tutti::nn;

constexpr std::size_t rows = 5;

/// Numbers in (-1, 1) that are exact in float and double.
template <class T>
nn::matrix<T> random_matrix(std::size_t columns, std::uint64_t seed) {
  auto m = nn::matrix<T>::from_shape({rows, columns});
  nn::random_sequence random(seed);
  std::generate(m.begin(), m.end(), [&] { return 2 * random.fraction<T>() - 1; });
  return m;
}

/// The derivative of f by x. A smaller step loses more digits of f, a larger one takes more rectifiers across their
/// corners.
template <class F>
double central_difference(double& x, F f, double step = 1e-5) {
  double const middle = x;
  x = middle + step;
  double const upper_loss = f();
  x = middle - step;
  double const lower_loss = f();
  x = middle;
  return (upper_loss - lower_loss) / (2 * step);
}

/// A layer by itself, with memory, a batch, and the loss sum(weight * y).
template <class T>
struct single_layer {
  explicit single_layer(nn::layer_list<T> layers) : list(std::move(layers)) {
    layer().bind(parameters, gradients, statistics);
    layer().reserve(rows);
    nn::random_sequence random(3);
    layer().initialise(random);
    for (T& p : parameters) {  // no bias stays zero
      p = static_cast<T>(static_cast<float>(p) + (random.fraction<float>() - 0.5F) / 4);
    }
  }

  [[nodiscard]] nn::layer<T>& layer() { return list.front(); }
  [[nodiscard]] auto input() { return nn::view<T const>(x.data(), rows, layer().inputs()); }

  double loss() {
    layer().forward(context, input(), nn::first_rows(y, rows));
    double sum = 0;
    for (std::size_t i = 0; i != y.size(); ++i) {
      sum += static_cast<double>(weight.data()[i] * y.data()[i]);
    }
    return sum;
  }

  void backward(bool input_wanted = true) {
    auto dy = weight;
    layer().backward(context, input(), nn::first_rows(y, rows), nn::first_rows(dy, rows),
                     input_wanted ? nn::first_rows(dx, rows) : nn::view<T>(nullptr, rows, 0));
  }

  nn::layer_list<T> list;
  nn::batch_context<T> context{true, 7, 3, {}};
  std::vector<T> parameters = std::vector<T>(layer().parameters());
  std::vector<T> gradients = std::vector<T>(layer().parameters(), T{99});  // must be overwritten, not added to
  std::vector<T> statistics = std::vector<T>(layer().statistics());
  nn::matrix<T> x = random_matrix<T>(layer().inputs(), 1);
  nn::matrix<T> weight = random_matrix<T>(layer().outputs(), 2);
  nn::matrix<T> y = random_matrix<T>(layer().outputs(), 4);
  nn::matrix<T> dx = random_matrix<T>(layer().inputs(), 5);
};

template <class A, class B>
double distance(A const& a, B const& b) {
  double worst = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; worst < 1 && i != a.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(a.data()[i]) - b.data()[i]));
  }
  return worst;
}

inline void gradients_are_central_differences(single_layer<double>& subject) {
  subject.loss();
  subject.backward();
  auto const gradients = subject.gradients;
  auto const by_input = subject.dx;
  auto const loss = [&] { return subject.loss(); };
  double worst = 0;
  for (std::size_t i = 0; i != gradients.size(); ++i) {
    worst = std::max(worst, std::abs(gradients[i] - central_difference(subject.parameters[i], loss)));
  }
  BOOST_TEST(worst < 1e-8, "a parameter's gradient is wrong by " << worst);
  worst = 0;
  for (std::size_t i = 0; i != subject.x.size(); ++i) {
    worst = std::max(worst, std::abs(by_input.data()[i] - central_difference(subject.x.data()[i], loss)));
  }
  BOOST_TEST(worst < 1e-8, "a derivative by an input is wrong by " << worst);

  subject.loss();
  std::ranges::fill(subject.gradients, 99.0);
  subject.backward(false);
  BOOST_TEST(distance(subject.gradients, gradients) < 1e-12,
             "the gradients depend on whether the derivative by the input is wanted");
}

inline void float_follows_double(single_layer<float>& narrow, single_layer<double>& exact) {
  BOOST_TEST(distance(narrow.parameters, exact.parameters) < 1e-6);
  std::ranges::copy(narrow.parameters, exact.parameters.begin());
  for (bool const training : {false, true}) {
    narrow.context.training = exact.context.training = training;
    narrow.loss();
    exact.loss();
    BOOST_TEST(distance(narrow.y, exact.y) < 1e-5);
  }
  narrow.backward();
  exact.backward();
  BOOST_TEST(distance(narrow.gradients, exact.gradients) < 1e-4);
  BOOST_TEST(distance(narrow.dx, exact.dx) < 1e-4);
  BOOST_TEST(distance(narrow.statistics, exact.statistics) < 1e-5);
}

/// Outside training each row's values depend on that row alone. A batch may be smaller than the allocated memory
/// allows.
inline void rows_do_not_depend_on_each_other(single_layer<double>& subject) {
  subject.context.training = false;
  subject.loss();
  auto const together = subject.y;
  std::size_t const columns = subject.layer().outputs();
  for (std::size_t r = 0; r != rows; ++r) {
    subject.layer().forward(
        subject.context,
        nn::view<double const>(subject.x.data() + r * subject.layer().inputs(), 1, subject.layer().inputs()),
        nn::view<double>(subject.y.data(), 1, columns));
    BOOST_TEST(distance(nn::view<double>(subject.y.data(), 1, columns),
                        nn::view<double const>(together.data() + r * columns, 1, columns)) < 1e-12);
  }
}

/// Checks all laws. `make` gives the layer for numbers of its argument's type.
template <class F>
void check_layer(std::string const& name, F const& make) {
  BOOST_TEST_CONTEXT(name) {
    nn::set_threads(1);
    single_layer<double> exact(make(double{}));
    single_layer<float> narrow(make(float{}));
    float_follows_double(narrow, exact);
    gradients_are_central_differences(exact);
    rows_do_not_depend_on_each_other(exact);
  }
}

}  // namespace laws
