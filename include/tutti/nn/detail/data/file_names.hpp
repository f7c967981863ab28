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

/// The names of everything in a folder, sorted; none if it cannot be read.
[[nodiscard]] TUTTI_DECL std::vector<std::string> sorted_names(std::filesystem::path const& folder);

/// An idx data set in a folder: the beginning that its files' names share, such as "emnist-letters-", and its files:
/// training images (0) and labels (1), then the test's; an empty path for a missing one.
struct idx_set {
  std::string prefix;
  std::array<std::filesystem::path, 4> files;
};

/// The usual name of a file of an idx data set.
[[nodiscard]] TUTTI_DECL std::string idx_file_name(std::string const& prefix, std::size_t file);

/// All idx data sets of a folder. A file that exists in two forms, such as plain and compressed, counts once.
[[nodiscard]] TUTTI_DECL std::vector<idx_set> idx_sets(std::filesystem::path const& folder);

/// The files in a folder whose names begin with `beginning` and end with .bin or .bin.gz, sorted by name; a file that
/// exists both plain and compressed counts once.
[[nodiscard]] TUTTI_DECL std::vector<std::filesystem::path> cifar_files(std::filesystem::path const& folder,
                                                                        std::string_view beginning);

/// The beginning of an error about missing files: the folder, "is not a folder" if it is none, and "should hold".
[[nodiscard]] TUTTI_DECL std::string should_hold(std::filesystem::path const& folder);

}  // namespace tutti::nn::detail::data

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/data/file_names.ipp>
#endif
