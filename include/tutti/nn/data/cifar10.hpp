// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <filesystem>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Reads the images of these files, in order.
/// @throws data_error if there is no file, if one is missing, truncated or of another kind, or if a label is not
/// below 10
[[nodiscard]] TUTTI_DECL dataset read_cifar10(std::span<std::filesystem::path const> files);

/// Reads a folder with any number of training batches, `data_batch*.bin`, and of test batches, `test_batch*.bin`,
/// plain or with .gz, in the order of their names. The lines of `batches.meta.txt` name the classes if that file
/// exists.
/// @throws data_error if the folder lacks either kind, or as read_cifar10
[[nodiscard]] TUTTI_DECL data_pair read_cifar10_folder(std::filesystem::path const& folder);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/cifar10.ipp>
#endif
