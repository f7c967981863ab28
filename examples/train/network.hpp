// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"
#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/extend/layer_list.hpp>

#include <string>

/// The layers of the model that the options name, for these images.
tutti::nn::layer_list<float> network_for(options const& options, tutti::nn::dataset const& images);

/// True if the model has one form for images of 224 x 224 and one for 32 x 32.
bool is_large(std::string const& model);

/// Describes the network, such as "784-256-128-10, relu".
std::string describe_network(options const& options, tutti::nn::dataset const& images);
