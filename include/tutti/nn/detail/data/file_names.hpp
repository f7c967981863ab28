// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline data {

/// The names of the files of a data set: training images (0) and labels (1), then the test's.
[[nodiscard]] TUTTI_DECL std::array<std::string, 4> idx_file_names(std::size_t file);

/// The four files of a folder; an empty path for a missing one.
[[nodiscard]] TUTTI_DECL std::array<std::filesystem::path, 4> idx_files(std::filesystem::path const& folder);

/// The files in a folder whose names begin with `beginning` and end with .bin or .bin.gz, sorted by name; a file that
/// exists both plain and compressed counts once.
[[nodiscard]] TUTTI_DECL std::vector<std::filesystem::path> cifar10_files(std::filesystem::path const& folder,
                                                                          std::string_view beginning);

}  // namespace tutti::nn::detail::data

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/data/file_names.ipp>
#endif
