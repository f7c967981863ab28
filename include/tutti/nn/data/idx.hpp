// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <filesystem>

namespace tutti::inline v0_1_0::nn {

/// Reads the data set in a file of images and a file of labels. The number of classes is the largest label plus one.
/// @throws data_error if one is missing, truncated, longer than announced or of another kind, or if their counts differ
[[nodiscard]] TUTTI_DECL dataset read_idx(std::filesystem::path const& images, std::filesystem::path const& labels);

/// Reads a folder with the four files of MNIST, or of a set published in that form, plain or with .gz, named
/// `train-images-idx3-ubyte` or `train-images.idx3-ubyte` and so on; EMNIST's names begin with `emnist-letters-` or the
/// like, and have `test` in place of `t10k`.
///
/// The number of classes is counted from both sets' labels. If no label is 0, label 1 becomes class 0 and so on, and
/// the classes have the files' numbers as names. EMNIST's images, which are stored column by column, are turned
/// upright.
/// @throws data_error with the list of expected files if one is missing, if the folder holds several data sets, or as
/// read_idx
[[nodiscard]] TUTTI_DECL data_pair read_idx_folder(std::filesystem::path const& folder);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/idx.ipp>
#endif
