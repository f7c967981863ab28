// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"
#include <tutti/nn/any_layer.hpp>
#include <tutti/nn/data/dataset.hpp>

#include <string>
#include <vector>

/// The layers of the model that the options name, for these images.
std::vector<tutti::nn::any_layer<float>> network_for(options const& options, tutti::nn::dataset const& images);

/// Whether the model is one that has a form for images of 224 x 224 and one for 32 x 32.
bool is_large(std::string const& model);

/// In words, such as "784-256-128-10, relu".
std::string describe_network(options const& options, tutti::nn::dataset const& images);
