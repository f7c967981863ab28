// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <nn/layer_laws.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/zoo/cnn.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/nn/zoo/resnet.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace nn = tutti::nn;

namespace {

using laws::rows;
constexpr std::array<std::uint8_t, rows> labels{0, 2, 1, 3, 2};
constexpr std::array<std::size_t, 2> hidden_sizes{5, 6};

template <class T>
auto forward(nn::model<T>& model, nn::matrix<T>& x) {
  return model.forward(nn::read_only<T>(nn::first_rows(x, rows)), {true, 3, 0, {}});
}

template <class T>
void differentiate(nn::model<T>& model, nn::matrix<T>& x) {
  auto const predictions = forward(model, x);
  nn::softmax_cross_entropy::differentiate<T>(predictions, labels, T{1} / static_cast<T>(rows), model.derivatives());
  model.backward(nn::read_only<T>(nn::first_rows(x, rows)));
}

/// Calls f with a model's name and a function that makes the model, for numbers of its argument's type.
template <class F>
void for_each_model(F const& f) {
  for (auto const kind : {nn::hidden_activation::relu, nn::hidden_activation::tanh, nn::hidden_activation::sigmoid}) {
    f(std::string(nn::name(kind)), [&]<class T>(T) { return nn::mlp<T>(7, hidden_sizes, 4, kind); });
  }
  f("convolutions", []<class T>(T) { return nn::cnn<T>({2, 4, 4}, 4); });
  f("residual blocks", []<class T>(T) { return nn::small_resnet<T>(8, {2, 4, 4}, 4); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(gradients_of_whole_models_with_the_loss_are_central_differences) {
  for_each_model([](std::string const& name, auto const& make) {
    nn::model<double> model(make(double{}));
    model.initialise(5);
    auto x = laws::random_matrix<double>(model.inputs(), 6);
    differentiate(model, x);
    std::vector<double> const gradients(model.gradients().begin(), model.gradients().end());
    BOOST_TEST(std::ranges::any_of(gradients, [](double g) { return std::abs(g) > 1e-3; }));
    auto const loss = [&] {
      return nn::softmax_cross_entropy::measure<double>(forward(model, x), labels).loss / double{rows};
    };
    double worst = 0;
    for (std::size_t i = 0; i < gradients.size(); i += gradients.size() / 300 + 1) {
      worst = std::max(worst, std::abs(gradients[i] - laws::central_difference(model.parameters()[i], loss, 1e-6)));
    }
    BOOST_TEST(worst < 1e-8, name << ": a gradient is wrong by " << worst);
  });
}

BOOST_AUTO_TEST_CASE(float_models_follow_double_ones) {
  for_each_model([](std::string const& name, auto const& make) {
    nn::model<double> exact(make(double{}));
    nn::model<float> model(make(float{}));
    exact.initialise(5);
    model.initialise(5);
    std::ranges::copy(model.parameters(), exact.parameters().begin());
    auto x = laws::random_matrix<double>(exact.inputs(), 6);
    auto narrow = laws::random_matrix<float>(exact.inputs(), 6);
    differentiate(exact, x);
    differentiate(model, narrow);
    double const wrong = laws::distance(model.gradients(), exact.gradients());
    BOOST_TEST(wrong < 1e-5, name << ": wrong by " << wrong);
  });
}
