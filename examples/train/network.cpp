// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <tutti/nn/zoo/alexnet.hpp>
#include <tutti/nn/zoo/cnn.hpp>
#include <tutti/nn/zoo/lenet5.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/nn/zoo/vgg.hpp>

namespace nn = tutti::nn;

nn::layer_list<float> network_for(options const& options, nn::dataset const& images) {
  if (options.model == "lenet5") {
    return nn::lenet5<float>(images.shape, images.classes);
  }
  if (options.model == "cnn") {
    return nn::cnn<float>(images.shape, images.classes);
  }
  if (options.model == "resnet20") {
    return nn::small_resnet<float>(20, images.shape, images.classes);
  }
  if (options.model == "alexnet") {
    return nn::alexnet<float>(images.shape, images.classes);
  }
  if (options.model == "vgg16" || options.model == "vgg19") {
    return nn::vgg<float>(options.model == "vgg16" ? 16 : 19, images.shape, images.classes);
  }
  if (options.model == "resnet50" || options.model == "resnet152") {
    return nn::resnet<float>(options.model == "resnet50" ? 50 : 152, images.shape, images.classes);
  }
  auto const activation = options.activation == "tanh"      ? nn::hidden_activation::tanh
                          : options.activation == "sigmoid" ? nn::hidden_activation::sigmoid
                                                            : nn::hidden_activation::relu;
  return nn::mlp<float>(images.features(), options.hidden_sizes, images.classes, activation);
}

bool is_large(std::string const& model) {
  return model != "mlp" && model != "lenet5" && model != "cnn" && model != "resnet20";
}

std::string describe_network(options const& options, nn::dataset const& images) {
  if (options.model != "mlp") {
    auto const side = std::to_string(options.speeds.side);
    return options.speeds.side == 0 ? options.model : options.model + " for images of " + side + " x " + side;
  }
  std::string text = std::to_string(images.features());
  for (auto const size : options.hidden_sizes) {
    text.append("-").append(std::to_string(size));
  }
  return text.append("-").append(std::to_string(images.classes)).append(", ").append(options.activation);
}
