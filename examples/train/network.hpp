// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"
#include <tutti/nn/any_layer.hpp>
#include <tutti/nn/data/dataset.hpp>

#include <cstddef>
#include <string>
#include <vector>

/// The layers of the model that the options name, for these images.
std::vector<tutti::nn::any_layer<float>> network_for(options const& options, tutti::nn::dataset const& images);

/// The side of the smallest images that this model takes; 0: any.
std::size_t least_side(options const& options);

/// In words, such as "784-256-128-10, relu".
std::string describe_network(options const& options, tutti::nn::dataset const& images);
