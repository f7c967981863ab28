// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/extend/layer.hpp>
#include <tutti/nn/gradient_sizes.hpp>
#include <tutti/nn/layer/weight_norm.hpp>
#include <tutti/nn/zoo/alexnet.hpp>
#include <tutti/nn/zoo/cnn.hpp>
#include <tutti/nn/zoo/lenet5.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/nn/zoo/vgg.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <memory>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

namespace nn = tutti::nn;

namespace {

using layers = nn::layer_list<float>;

constexpr nn::image_shape imagenet{3, 224, 224};
constexpr nn::image_shape cifar{3, 32, 32};

struct expected {
  char const* name;
  layers model;
  nn::image_shape image;
  std::size_t classes;
  std::size_t parameters;
};

/// Parameter counts of the papers, and of the implementations that papers compare with.
std::vector<expected> zoo() {
  constexpr nn::image_shape digit{1, 28, 28};
  constexpr std::array<std::size_t, 2> hidden_sizes{256, 128};
  return {
      {"mlp", nn::mlp<float>(784, hidden_sizes, 10, nn::hidden_activation::relu), digit, 10, 235'146},
      {"lenet5", nn::lenet5<float>(digit, 10), digit, 10, 61'706},
      {"lenet5, cifar", nn::lenet5<float>(cifar, 10), cifar, 10, 62'006},
      {"cnn", nn::cnn<float>(digit, 10), digit, 10, 421'642},
      {"alexnet", nn::alexnet<float>(imagenet, 1000), imagenet, 1000, 60'965'224},
      {"alexnet, cifar", nn::alexnet<float>(cifar, 10), cifar, 10, 2'472'266},
      {"vgg16", nn::vgg<float>(16, imagenet, 1000), imagenet, 1000, 138'357'544},
      {"vgg19", nn::vgg<float>(19, imagenet, 1000), imagenet, 1000, 143'667'240},
      {"vgg16, cifar", nn::vgg<float>(16, cifar, 10), cifar, 10, 14'724'042},
      {"vgg19, cifar", nn::vgg<float>(19, cifar, 10), cifar, 10, 20'035'018},
      {"resnet50", nn::resnet<float>(50, imagenet, 1000), imagenet, 1000, 25'557'032},
      {"resnet101", nn::resnet<float>(101, imagenet, 1000), imagenet, 1000, 44'549'160},
      {"resnet152", nn::resnet<float>(152, imagenet, 1000), imagenet, 1000, 60'192'808},
      {"resnet200", nn::resnet<float>(200, imagenet, 1000), imagenet, 1000, 64'673'832},
      {"resnet50, cifar", nn::resnet<float>(50, cifar, 10), cifar, 10, 23'520'842},
      {"resnet20", nn::small_resnet<float>(20, cifar, 10), cifar, 10, 272'474},
  };
}

}  // namespace

BOOST_AUTO_TEST_CASE(models_have_as_many_parameters_as_published) {
  for (auto const& [name, model, image, classes, parameters] : zoo()) {
    BOOST_TEST(nn::count_parameters(model) == parameters, name);
    BOOST_TEST(model.front().inputs() == image.size(), name);
    BOOST_TEST(model.back().outputs() == classes, name);
    BOOST_CHECK_NO_THROW(nn::detail::sequence<float>{model});  // each layer takes the output of the one before
  }
}

BOOST_AUTO_TEST_CASE(gradients_are_of_the_sizes_that_communication_is_measured_with) {
  auto const mebibytes = [](layers const& model) { return nn::count_parameters(model) * sizeof(float) >> 20U; };
  BOOST_TEST(mebibytes(nn::alexnet<float>(imagenet, 1000)) == 232U);
  BOOST_TEST(mebibytes(nn::vgg<float>(16, imagenet, 1000)) == 527U);
  BOOST_TEST(mebibytes(nn::vgg<float>(19, imagenet, 1000)) == 548U);
  BOOST_TEST(mebibytes(nn::resnet<float>(50, imagenet, 1000)) == 97U);
  BOOST_TEST(mebibytes(nn::resnet<float>(152, imagenet, 1000)) == 229U);
}

BOOST_AUTO_TEST_CASE(gradient_sizes_are_those_of_the_layers_within_blocks) {
  for (auto const& network : zoo()) {
    auto const sizes = nn::gradient_sizes<float>(network.model);
    BOOST_TEST(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}) == network.parameters, network.name);
  }
  // 53 convolutions with a normalisation each, and a dense layer.
  auto const sizes = nn::gradient_sizes<float>(nn::resnet<float>(50, imagenet, 1000));
  BOOST_TEST(sizes.size() == 53U * 2 + 1);
  BOOST_TEST(sizes[0] == 7U * 7 * 3 * 64);
  BOOST_TEST(sizes[1] == 2U * 64);
  BOOST_TEST(sizes.back() == 2049U * 1000);
}

BOOST_AUTO_TEST_CASE(models_that_do_not_exist_are_refused) {
  BOOST_CHECK_THROW((void)nn::vgg<float>(17, cifar, 10), tutti::precondition_error);
  BOOST_CHECK_THROW((void)nn::resnet<float>(20, cifar, 10), tutti::precondition_error);
  BOOST_CHECK_THROW((void)nn::small_resnet<float>(21, cifar, 10), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(dropout_has_the_given_probability_or_is_not_there) {
  constexpr std::array<std::size_t, 2> hidden_sizes{256, 128};
  auto const dropouts = [](layers const& model) {
    std::vector<double> probabilities;
    for (auto const& layer : model) {
      auto const description = layer.geometry().description;
      if (auto const* const dropout = std::get_if<nn::geometry::dropout>(&description)) {
        probabilities.push_back(dropout->limit / 4294967296.0);
      }
    }
    return probabilities;
  };
  for (double const p : {0.0, 0.25}) {
    auto const expect = [&](layers const& model, layers const& published_model, std::size_t places) {
      BOOST_TEST((dropouts(model) == std::vector<double>(p == 0 ? 0 : places, p)));
      BOOST_TEST(nn::count_parameters(model) == nn::count_parameters(published_model));
    };
    constexpr auto relu = nn::hidden_activation::relu;
    expect(nn::mlp<float>(784, hidden_sizes, 10, relu, p), nn::mlp<float>(784, hidden_sizes, 10, relu), 2);
    expect(nn::lenet5<float>(cifar, 10, p), nn::lenet5<float>(cifar, 10), 2);
    expect(nn::cnn<float>(cifar, 10, p), nn::cnn<float>(cifar, 10), 1);
    for (auto const& [image, places] : {std::pair{cifar, 1U}, {imagenet, 2U}}) {
      expect(nn::alexnet<float>(image, 10, p), nn::alexnet<float>(image, 10), places);
      expect(nn::vgg<float>(16, image, 10, p), nn::vgg<float>(16, image, 10), places);
      expect(nn::resnet<float>(50, image, 10, p), nn::resnet<float>(50, image, 10), 1);
    }
    expect(nn::small_resnet<float>(20, cifar, 10, p), nn::small_resnet<float>(20, cifar, 10), 1);
  }
  BOOST_TEST((dropouts(nn::cnn<float>(cifar, 10)) == std::vector{0.5}));
  BOOST_TEST((dropouts(nn::vgg<float>(16, imagenet, 10)) == std::vector{0.5, 0.5}));
  BOOST_TEST((dropouts(nn::alexnet<float>(imagenet, 10)) == std::vector{0.5, 0.5}));
  BOOST_TEST(dropouts(nn::vgg<float>(16, cifar, 10)).empty());
  BOOST_TEST(dropouts(nn::lenet5<float>(cifar, 10)).empty());
}

BOOST_AUTO_TEST_CASE(biases_and_normalisation_do_not_decay) {
  layers model{nn::conv2d<float>({3, 8, 8}, {4, {3, 1, 1}, 1, true}), nn::batch_norm<float>({4, 8, 8}),
               nn::weight_norm<float>(layers{nn::dense<float>(256, 10)})};
  auto const ranges = nn::detail::gradient_ranges<float>(model);
  BOOST_REQUIRE(ranges.size() == 3U);
  BOOST_TEST(ranges[0].decay_exemptions == 4U);
  BOOST_TEST(ranges[1].decay_exemptions == ranges[1].size);
  BOOST_TEST(ranges[2].decay_exemptions == 20U);
  // A layer that does not tell its weights decays as a whole.
  struct unknown : nn::layer<float> {
    [[nodiscard]] std::unique_ptr<nn::layer<float>> clone() const override { return std::make_unique<unknown>(*this); }
    [[nodiscard]] std::size_t inputs() const override { return 1; }
    [[nodiscard]] std::size_t outputs() const override { return 1; }
    [[nodiscard]] std::size_t parameters() const override { return 7; }
    void forward(nn::batch_context<float> const&, nn::matrix_view<float const> const&,
                 nn::matrix_view<float>) override {}
    void backward(nn::batch_context<float> const&, nn::matrix_view<float const> const&, nn::matrix_view<float> const&,
                  nn::matrix_view<float>, nn::matrix_view<float>) override {}
  };
  BOOST_TEST(nn::detail::gradient_ranges<float>(layers{unknown{}})[0].decay_exemptions == 0U);
}
