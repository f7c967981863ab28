// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/images/detail/picture_names.hpp>
#include <tutti/nn/images/read_folder.hpp>

#include <filesystem>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL data_pair read_folder(std::filesystem::path const& folder, image_options const& options) {
  return detail::has_pictures(folder) ? read_image_folder(folder, options) : read_folder(folder);
}

}  // namespace tutti::nn
