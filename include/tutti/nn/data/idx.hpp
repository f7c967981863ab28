// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <cstddef>
#include <filesystem>

namespace tutti::inline v0_1_0::nn {

/// Reads the data set in a file of images and a file of labels.
/// @throws data_error if one is missing, truncated, longer than announced or of another kind, if their counts differ,
/// or if a label is not below `classes`
[[nodiscard]] TUTTI_DECL dataset read_idx(std::filesystem::path const& images, std::filesystem::path const& labels,
                                          std::size_t classes = 10);

/// Reads a folder with the four files of MNIST, or of a set published in that form, plain or with .gz, named
/// `train-images-idx3-ubyte` or `train-images.idx3-ubyte` and so on.
/// @throws data_error with the list of expected files if one is missing, or as read_idx
[[nodiscard]] TUTTI_DECL data_pair read_idx_folder(std::filesystem::path const& folder);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/idx.ipp>
#endif
