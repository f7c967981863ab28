// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/data/read_folder.hpp>
#include <tutti/nn/images/read_image_folder.hpp>

#include <filesystem>

namespace tutti::inline v0_1_0::nn {

/// Reads the sets in a folder of any kind: pictures in a subfolder for each class, like read_image_folder, or what
/// `read_folder(folder)` reads.
/// @throws data_error like these functions
[[nodiscard]] TUTTI_DECL data_pair read_folder(std::filesystem::path const& folder, image_options const& options);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/images/read_folder.ipp>
#endif
