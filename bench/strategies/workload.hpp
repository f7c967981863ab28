// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inception_v3.hpp"
#include "layer.hpp"
#include <tutti/nn/gradient_sizes.hpp>
#include <tutti/nn/zoo/alexnet.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/nn/zoo/vgg.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace bench {

/// A model, and how fast one worker alone trains it.
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
  [[nodiscard]] double products() const {
    double all = 0;
    for (layer const& one : layers) {
      all += one.products;
    }
    return all;
  }
};

namespace detail {

inline void add_layers(std::span<tutti::nn::any_layer<float> const> from, std::vector<layer>& to) {
  for (auto const& one : from) {
    one.visit([&]<class Layer>(Layer const& l) {
      if constexpr (std::same_as<Layer, tutti::nn::residual<float>>) {
        add_layers(l.body().layers(), to);
        if (l.shortcut()) {
          add_layers(l.shortcut()->layers(), to);
        }
      } else if (l.parameters() != 0) {
        double pixels = 1;
        if constexpr (requires { l.output_shape(); }) {
          pixels = static_cast<double>(l.output_shape().rows * l.output_shape().columns);
        }
        to.push_back({l.parameters(), static_cast<double>(l.parameters()) * pixels});
      }
    });
  }
}

[[nodiscard]] inline std::vector<layer> layers_of(std::vector<tutti::nn::any_layer<float>> const& model) {
  std::vector<layer> all;
  add_layers(model, all);
  return all;
}

}  // namespace detail

/// For images of this side. One NVIDIA P100, single precision, synthetic data of ImageNet's size: the TensorFlow
/// project's page "Benchmarks", 2017. It has no VGG-19, which is taken to be slower than VGG-16 as it has more
/// operations, 19.6 to 15.5 thousand million, and no ResNet-200, in the same way slower than ResNet-152. Of another
/// side the speeds are those of the operations, and Inception-v3, which has no form for small images, is left out.
[[nodiscard]] inline std::vector<workload> workloads(std::size_t side = 224) {
  namespace nn = tutti::nn;
  auto const all_of = [](std::size_t of) {
    nn::image_shape const image{3, of, of};
    std::size_t const classes = of > nn::small_image ? 1000 : 10;
    auto const made = [](char const* name, std::vector<nn::any_layer<float>> const& model, double batch, double speed) {
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
  all[5].images_per_second *= all[4].products() / all[5].products();
  if (side == 224) {
    all.push_back({"Inception-v3", inception_v3(), 64, 142});
    return all;
  }
  std::vector<workload> other = all_of(side);
  for (std::size_t i = 0; i != other.size(); ++i) {
    other[i].images_per_second = all[i].images_per_second * all[i].products() / other[i].products();
  }
  return other;
}

}  // namespace bench
