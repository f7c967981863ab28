// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/mlp.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

namespace nn = tutti::nn;

namespace {

double accuracy(nn::data_pair const& data, std::vector<std::size_t> const& hidden_sizes) {
  nn::set_threads(1);
  nn::settings const settings;
  nn::replica model(nn::model<float>(nn::mlp<float>(data.training.features(), hidden_sizes, data.training.classes,
                                                    nn::hidden_activation::relu),
                                     nn::replica::extra_scalars),
                    data.training, data.test, settings, 0, 1);
  nn::local_only strategy;
  nn::history history;
  nn::train(model, strategy, history);
  return history.epochs.back().test_accuracy;
}

}  // namespace

BOOST_AUTO_TEST_CASE(built_in_digits_tell_a_linear_model_from_a_deep_one) {
  nn::data_pair const data{nn::digits(20000, 1), nn::digits(4000, 1, 20000)};
  double const linear = accuracy(data, {});
  double const deep = accuracy(data, {256, 128});
  BOOST_TEST_MESSAGE("linear " << linear << ", two hidden layers " << deep);
  BOOST_TEST(linear > 0.80);
  BOOST_TEST(linear < 0.92);
  BOOST_TEST(deep > 0.97);
}
