// SPDX-License-Identifier: Apache-2.0
#include "read_data.hpp"
#include <tutti/nn/data/read_folder.hpp>

tutti::nn::data_pair read_data(std::filesystem::path const& folder, std::size_t /*image_size*/,
                               std::size_t /*channels*/) {
  return tutti::nn::read_folder(folder);
}

std::vector<std::uint8_t> read_picture(std::filesystem::path const& file, tutti::nn::image_shape const& /*shape*/) {
  throw tutti::nn::data_error(file.string() +
                              " cannot be read: this program was built without tutti::nn_images; install libpng and "
                              "libjpeg, and build it again");
}
