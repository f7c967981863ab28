// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <filesystem>

namespace tutti::inline v0_1_0::nn {

/// Reads the sets in a folder of either kind: batches of CIFAR-10, or four idx files like MNIST's.
/// @throws data_error if it has files of both kinds or of neither, or as read_cifar10_folder or read_idx_folder
[[nodiscard]] TUTTI_DECL data_pair read_folder(std::filesystem::path const& folder);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/read_folder.ipp>
#endif
