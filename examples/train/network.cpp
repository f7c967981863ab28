// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <tutti/nn/zoo/alexnet.hpp>
#include <tutti/nn/zoo/cnn.hpp>
#include <tutti/nn/zoo/lenet5.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/nn/zoo/vgg.hpp>

#include <cstdio>
#include <optional>

namespace nn = tutti::nn;

nn::layer_list<float> network_for(options const& options, nn::dataset const& images) {
  std::optional<double> const dropout = options.dropout < 0 ? std::nullopt : std::optional(options.dropout);
  if (options.model == "lenet5") {
    return nn::lenet5<float>(images.shape, images.classes, dropout.value_or(0));
  }
  if (options.model == "cnn") {
    return nn::cnn<float>(images.shape, images.classes, dropout.value_or(0.5));
  }
  if (options.model == "resnet20") {
    return nn::small_resnet<float>(20, images.shape, images.classes, dropout.value_or(0));
  }
  if (options.model == "alexnet") {
    return nn::alexnet<float>(images.shape, images.classes, dropout);
  }
  if (options.model == "vgg16" || options.model == "vgg19") {
    return nn::vgg<float>(options.model == "vgg16" ? 16 : 19, images.shape, images.classes, dropout);
  }
  if (options.model == "resnet50" || options.model == "resnet152") {
    return nn::resnet<float>(options.model == "resnet50" ? 50 : 152, images.shape, images.classes, dropout.value_or(0));
  }
  auto const activation = options.activation == "tanh"      ? nn::hidden_activation::tanh
                          : options.activation == "sigmoid" ? nn::hidden_activation::sigmoid
                                                            : nn::hidden_activation::relu;
  return nn::mlp<float>(images.features(), options.hidden_sizes, images.classes, activation, dropout.value_or(0));
}

bool is_large(std::string const& model) {
  return model != "mlp" && model != "lenet5" && model != "cnn" && model != "resnet20";
}

std::string describe_network(options const& options, nn::dataset const& images) {
  std::string dropout;
  if (options.dropout >= 0) {
    char text[32];
    std::snprintf(text, sizeof text, ", dropout %g", options.dropout);
    dropout = text;
  }
  if (options.model != "mlp") {
    auto const side = std::to_string(options.speeds.side);
    return options.model + (options.speeds.side == 0 ? "" : " for images of " + side + " x " + side) + dropout;
  }
  std::string text = std::to_string(images.features());
  for (auto const size : options.hidden_sizes) {
    text.append("-").append(std::to_string(size));
  }
  return text.append("-").append(std::to_string(images.classes)).append(", ").append(options.activation) + dropout;
}
