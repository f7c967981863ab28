// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/base/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

/// Reads the sets in a folder of any kind. The test set is empty if the folder has none. Pictures, scaled to images of
/// this side, are read where built with tutti::nn_images.
/// @param channels number of channels of images made from pictures: 1 or 3; 0: as the pictures have
/// @throws tutti::nn::data_error
tutti::nn::data_pair read_data(std::filesystem::path const& folder, std::size_t image_size, std::size_t channels = 0);

/// Reads a picture as an image of this shape, where built with tutti::nn_images.
/// @throws tutti::nn::data_error
std::vector<std::uint8_t> read_picture(std::filesystem::path const& file, tutti::nn::image_shape const& shape);
