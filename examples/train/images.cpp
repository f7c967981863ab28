// SPDX-License-Identifier: Apache-2.0
#include "read_data.hpp"
#include <tutti/nn/images/read_folder.hpp>
#include <tutti/nn/images/read_image.hpp>

tutti::nn::data_pair read_data(std::filesystem::path const& folder, std::size_t image_size, std::size_t channels) {
  return tutti::nn::read_folder(folder, tutti::nn::image_options{.side = image_size, .channels = channels});
}

std::vector<std::uint8_t> read_picture(std::filesystem::path const& file, tutti::nn::image_shape const& shape) {
  return tutti::nn::read_image(file, shape);
}
