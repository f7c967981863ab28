// SPDX-License-Identifier: Apache-2.0
#include "recipes.hpp"

#include <algorithm>
#include <stdexcept>

std::span<recipe const> recipes() {
  static constexpr recipe table[] = {
      {"mlp-mnist", "98.2 % of MNIST after 5 epochs; two hidden layers",
       "model=mlp\nbatch=128\nlr=0.1\nlr-end=0.001\nmomentum=0.9\nepochs=5\n"},
      {"lenet5-mnist", "99.2 % of MNIST after 10 epochs; LeNet-5",
       "model=lenet5\nbatch=64\nlr=0.05\nlr-end=0.001\nmomentum=0.9\nepochs=10\n"},
      {"pictures", "for a folder of your own pictures; two convolutions, by Adam",
       "model=cnn\noptimizer=adam\nbatch=32\nepochs=20\nstandardise=true\n"},
      {"resnet20-cifar10", "for CIFAR-10, as He et al. 2016 trained it; ResNet-20 for 164 epochs",
       "model=resnet20\nbatch=128\nlr=0.1\nmomentum=0.9\nweight-decay=0.0001\ndecay-all=true\nepochs=164\n"
       "schedule=step\nchange-at=82,123\nchange-by=10\naugment=crop_flip\nstandardise=true\n"},
  };
  return table;
}

recipe const& find_recipe(std::string const& name) {
  auto const match = std::ranges::find(recipes(), name, &recipe::name);
  if (match == recipes().end()) {
    throw std::invalid_argument("must be one of these, not \"" + name + "\":\n" + describe_recipes());
  }
  return *match;
}

std::string describe_recipes() {
  std::string result;
  for (auto const& r : recipes()) {
    std::string const name = r.name;
    result += "  " + name + std::string(18 - std::min<std::size_t>(name.size(), 17), ' ') + r.summary + "\n";
  }
  return result;
}
