// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <filesystem>

namespace tutti::inline v0_1_0::nn {

/// Reads the sets in a folder of any of these kinds: idx files like MNIST's, CIFAR-10, CIFAR-100, and NumPy's arrays.
/// Folders of pictures are read by the function of this name in `images/read_folder.hpp`.
/// @throws data_error if it has files of two kinds or of none, or as the function that reads its kind
[[nodiscard]] TUTTI_DECL data_pair read_folder(std::filesystem::path const& folder);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/read_folder.ipp>
#endif
