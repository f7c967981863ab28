// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <filesystem>

namespace tutti::inline v0_1_0::nn {

/// Reads the data set in two files that `numpy.save` wrote. The number of classes is the largest label plus one.
///
/// Images are arrays of uint8 of the shape (N, rows, columns), (N, rows, columns, C) or (N, C, rows, columns), with C 1
/// or 3; where both fit, C is the last. Labels are integers of any type, of the shape (N) or (N, 1).
/// @throws data_error if one is missing, truncated, or of another kind, type or shape, if their counts differ, or if a
/// label is not from 0 to 255
[[nodiscard]] TUTTI_DECL dataset read_npy(std::filesystem::path const& images, std::filesystem::path const& labels);

/// Reads a folder with `train_images.npy` and `train_labels.npy`, and with or without `test_images.npy` and
/// `test_labels.npy`. Classes are counted as by read_idx_folder.
/// @throws data_error with the list of expected files if one is missing, or as read_npy
[[nodiscard]] TUTTI_DECL data_pair read_npy_folder(std::filesystem::path const& folder);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/npy.ipp>
#endif
