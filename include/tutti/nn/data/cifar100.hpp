// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <filesystem>

namespace tutti::inline v0_1_0::nn {

/// Reads a folder with `train.bin` and `test.bin` of CIFAR-100's binary version, plain or with .gz. The 100 fine labels
/// are the classes, named by the lines of `fine_label_names.txt` if that file exists.
/// @throws data_error if a file is missing, truncated or of another kind, or if a label is not below 100
[[nodiscard]] TUTTI_DECL data_pair read_cifar100_folder(std::filesystem::path const& folder);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/cifar100.ipp>
#endif
