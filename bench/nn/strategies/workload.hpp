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
    std::size_t all = 0;
    for (layer const& one : layers) {
      all += one.numbers;
    }
    return all;
  }
  [[nodiscard]] double multiply_adds() const {
    double all = 0;
    for (layer const& one : layers) {
      all += one.products;
    }
    return all;
  }
};

namespace detail {

[[nodiscard]] inline std::vector<layer> layers_of(tutti::nn::layer_list<float> const& model) {
  auto const numbers = tutti::nn::gradient_sizes<float>(model);
  auto const products = tutti::nn::layer_multiply_adds<float>(model);
  std::vector<layer> all;
  for (std::size_t i = 0; i != numbers.size(); ++i) {
    all.push_back({numbers[i], products[i]});
  }
  return all;
}

}  // namespace detail

/// Workloads for images of this side. Speeds are those of one NVIDIA P100, single precision, synthetic data of
/// ImageNet's size: the TensorFlow project's page "Benchmarks", 2017. That page has no VGG-19 and no ResNet-200; they
/// are taken to be slower than VGG-16 and ResNet-152 by the ratio of their operations (VGG: 19.6 to 15.5 thousand
/// million). For another side speeds scale with the operations, and Inception-v3, which has no form for small images,
/// is left out.
[[nodiscard]] inline std::vector<workload> workloads(std::size_t side = 224) {
  namespace nn = tutti::nn;
  auto const all_of = [](std::size_t of) {
    nn::image_shape const image{3, of, of};
    std::size_t const classes = of > nn::small_image ? 1000 : 10;
    auto const made = [](char const* name, nn::layer_list<float> const& model, double batch, double speed) {
      return workload{name, detail::layers_of(model), batch, speed};
    };
    return std::vector<workload>{made("AlexNet", nn::alexnet<float>(image, classes), 512, 2987),
                                 made("VGG-16", nn::vgg<float>(16, image, classes), 64, 154),
                                 made("VGG-19", nn::vgg<float>(19, image, classes), 64, 154 * 15.5 / 19.6),
                                 made("ResNet-50", nn::resnet<float>(50, image, classes), 64, 219),
                                 made("ResNet-152", nn::resnet<float>(152, image, classes), 64, 91.8),
                                 made("ResNet-200", nn::resnet<float>(200, image, classes), 64, 91.8)};
  };
  std::vector<workload> all = all_of(224);
  all[5].images_per_second *= all[4].multiply_adds() / all[5].multiply_adds();
  if (side == 224) {
    all.push_back({"Inception-v3", inception_v3(), 64, 142});
    return all;
  }
  std::vector<workload> other = all_of(side);
  for (std::size_t i = 0; i != other.size(); ++i) {
    other[i].images_per_second = all[i].images_per_second * all[i].multiply_adds() / other[i].multiply_adds();
  }
  return other;
}

}  // namespace bench
