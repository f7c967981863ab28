// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/dataset.hpp>

#include <cstddef>
#include <filesystem>

/// Reads the sets in a folder of any kind. The test set is empty if the folder has none. Pictures, scaled to images of
/// this side, are read where built with tutti::nn_images.
/// @throws tutti::nn::data_error
tutti::nn::data_pair read_data(std::filesystem::path const& folder, std::size_t image_size);
