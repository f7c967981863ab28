// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inception_v3.hpp"
#include "layer.hpp"
#include <tutti/nn/gradient_sizes.hpp>
#include <tutti/nn/layer_multiply_adds.hpp>
#include <tutti/nn/zoo/alexnet.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/nn/zoo/vgg.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace bench {

/// A model, and its training speed on one worker alone.
struct workload {
  std::string name;
  std::vector<layer> layers;
  double batch;
  double images_per_second;

  [[nodiscard]] std::size_t parameters() const {
    std::size_t total = 0;
    for (layer const& l : layers) {
      total += l.numbers;
    }
    return total;
  }
  [[nodiscard]] double multiply_adds() const {
    double total = 0;
    for (layer const& l : layers) {
      total += l.products;
    }
    return total;
  }
};

namespace detail {

[[nodiscard]] inline std::vector<layer> layers_of(tutti::nn::layer_list<float> const& model) {
  auto const numbers = tutti::nn::gradient_sizes<float>(model);
  auto const products = tutti::nn::layer_multiply_adds<float>(model);
  std::vector<layer> layers;
  for (std::size_t i = 0; i != numbers.size(); ++i) {
    layers.push_back({numbers[i], products[i]});
  }
  return layers;
}

}  // namespace detail

/// Workloads for images of this side. Speeds are those of one NVIDIA P100, single precision, synthetic data of
/// ImageNet's size: the TensorFlow project's page "Benchmarks", 2017. That page has no VGG-19 and no ResNet-200; they
/// are taken to be slower than VGG-16 and ResNet-152 by the ratio of their operations (VGG: 19.6 to 15.5 thousand
/// million). For another side speeds scale with the operations, and Inception-v3, which has no form for small images,
/// is left out.
[[nodiscard]] inline std::vector<workload> workloads(std::size_t side = 224) {
  namespace nn = tutti::nn;
  auto const make_workloads = [](std::size_t image_side) {
    nn::image_shape const image{3, image_side, image_side};
    std::size_t const classes = image_side > nn::small_image ? 1000 : 10;
    auto const make = [](char const* name, nn::layer_list<float> const& model, double batch, double speed) {
      return workload{name, detail::layers_of(model), batch, speed};
    };
    return std::vector<workload>{make("AlexNet", nn::alexnet<float>(image, classes), 512, 2987),
                                 make("VGG-16", nn::vgg<float>(16, image, classes), 64, 154),
                                 make("VGG-19", nn::vgg<float>(19, image, classes), 64, 154 * 15.5 / 19.6),
                                 make("ResNet-50", nn::resnet<float>(50, image, classes), 64, 219),
                                 make("ResNet-152", nn::resnet<float>(152, image, classes), 64, 91.8),
                                 make("ResNet-200", nn::resnet<float>(200, image, classes), 64, 91.8)};
  };
  std::vector<workload> result = make_workloads(224);
  result[5].images_per_second *= result[4].multiply_adds() / result[5].multiply_adds();
  if (side == 224) {
    result.push_back({"Inception-v3", inception_v3(), 64, 142});
    return result;
  }
  std::vector<workload> other = make_workloads(side);
  for (std::size_t i = 0; i != other.size(); ++i) {
    other[i].images_per_second = result[i].images_per_second * result[i].multiply_adds() / other[i].multiply_adds();
  }
  return other;
}

}  // namespace bench
