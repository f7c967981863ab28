// SPDX-License-Identifier: Apache-2.0
#include "read_data.hpp"
#include <tutti/nn/images/read_folder.hpp>

tutti::nn::data_pair read_data(std::filesystem::path const& folder, std::size_t image_size) {
  return tutti::nn::read_folder(folder, tutti::nn::image_options{.side = image_size});
}
