// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/strategy/neighbourhood.hpp>

#include <cstddef>

/// What strategies whose replicas differ between steps are asked to do.
struct averaging {
  std::size_t every = 8;  ///< steps, of local_sgd
  tutti::nn::neighbours graph = tutti::nn::neighbours::ring;
  double participation = 1;
  std::size_t local_epochs = 1;
};
