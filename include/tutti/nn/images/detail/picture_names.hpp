// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline images {

/// The pictures of a class, sorted by name.
struct class_folder {
  std::string name;
  std::vector<std::string> pictures;
};

/// The folders of a data set: those of the training set, and those of the test set, if it has one of its own.
struct picture_folders {
  std::filesystem::path training_folder;
  std::vector<class_folder> training;
  std::filesystem::path test_folder;
  std::vector<class_folder> test;
};

/// True if the folder has subfolders with pictures, or subfolders of subfolders.
[[nodiscard]] TUTTI_DECL bool has_pictures(std::filesystem::path const& folder);

/// Finds the classes and pictures of a folder.
/// @throws data_error if there is anything else, except files that systems put into each folder, or if a class of the
/// test set is not in the training set, or if there are too many classes, or none
[[nodiscard]] TUTTI_DECL picture_folders find_pictures(std::filesystem::path const& folder);

}  // namespace tutti::nn::detail::images

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/images/detail/picture_names.ipp>
#endif
