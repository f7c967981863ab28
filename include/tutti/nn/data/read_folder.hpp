// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <filesystem>

namespace tutti::inline v0_1_0::nn {

/// The sets in a folder, whichever they are: batches of CIFAR-10, or four idx files as of MNIST.
/// @throws data_error if it holds files of both kinds or of neither, or as read_cifar10_folder or
/// read_idx_folder
[[nodiscard]] TUTTI_DECL data_pair read_folder(std::filesystem::path const& folder);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/read_folder.ipp>
#endif
