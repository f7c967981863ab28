// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/detail/data/file_names.hpp>
#include <tutti/nn/images/detail/picture_names.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline images {

TUTTI_DECL bool is_picture_name(std::string_view name) {
  auto const ends_with = [&](std::string_view ending) {
    auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return name.size() > ending.size() &&
           std::ranges::equal(name.substr(name.size() - ending.size()), ending, {}, lower);
  };
  return ends_with(".png") || ends_with(".jpg") || ends_with(".jpeg");
}

/// The sorted names in a folder, except those of hidden files and of files that systems add.
TUTTI_DECL std::vector<std::string> visible_names(std::filesystem::path const& folder) {
  auto names = sorted_names(folder);
  std::erase_if(names, [](std::string const& name) {
    return name.starts_with('.') || name == "Thumbs.db" || name == "desktop.ini" || name == "__MACOSX";
  });
  return names;
}

TUTTI_DECL bool is_folder(std::filesystem::path const& path) {
  std::error_code ignored_error;
  return std::filesystem::is_directory(path, ignored_error);
}

TUTTI_DECL bool has_subfolder(std::filesystem::path const& folder) {
  return std::ranges::any_of(visible_names(folder), [&](auto const& name) { return is_folder(folder / name); });
}

/// The pictures of a class's folder.
TUTTI_DECL std::vector<std::string> pictures_in(std::filesystem::path const& folder) {
  auto names = visible_names(folder);
  for (auto const& name : names) {
    if (is_folder(folder / name) || !is_picture_name(name)) {
      throw data_error((folder / name).string() +
                       " does not belong into the folder of a class: expected *.png, *.jpg or *.jpeg files only; move "
                       "it out of the data set");
    }
  }
  if (names.empty()) {
    throw data_error(folder.string() +
                     " is the folder of a class without pictures: expected *.png, *.jpg or *.jpeg files; add some, or "
                     "remove it");
  }
  return names;
}

/// The classes in the subfolders of a folder.
TUTTI_DECL std::vector<class_folder> classes_in(std::filesystem::path const& folder) {
  std::vector<class_folder> classes;
  for (auto const& name : visible_names(folder)) {
    if (!is_folder(folder / name)) {
      throw data_error((folder / name).string() +
                       " does not belong into a folder of pictures: expected a subfolder for each class, and nothing "
                       "else; move it out of the data set");
    }
    classes.push_back({name, pictures_in(folder / name)});
  }
  constexpr std::size_t max_classes = 256;
  if (classes.empty() || classes.size() > max_classes) {
    throw data_error(folder.string() +
                     " should hold from 1 to 256 subfolders, one for each class, with *.png, *.jpg "
                     "or *.jpeg files: found " +
                     std::to_string(classes.size()));
  }
  return classes;
}

TUTTI_DECL bool has_pictures(std::filesystem::path const& folder) {
  auto const has_any = [](std::filesystem::path const& path) {
    return std::ranges::any_of(sorted_names(path), [](auto const& name) { return is_picture_name(name); });
  };
  return std::ranges::any_of(visible_names(folder), [&](auto const& name) {
    auto const subfolder = folder / name;
    return is_folder(subfolder) &&
           (has_any(subfolder) || std::ranges::any_of(visible_names(subfolder), [&](auto const& inner_name) {
              return is_folder(subfolder / inner_name) && has_any(subfolder / inner_name);
            }));
  });
}

TUTTI_DECL picture_folders find_pictures(std::filesystem::path const& folder) {
  if (!has_subfolder(folder / "train")) {
    return {folder, classes_in(folder), {}, {}};
  }
  picture_folders result{folder / "train", classes_in(folder / "train"), {}, {}};
  constexpr std::array<std::string_view, 4> test_names{"test", "val", "valid", "validation"};
  for (auto const& name : visible_names(folder)) {
    if (name == "train") {
      continue;
    }
    if (std::ranges::find(test_names, name) == test_names.end() || !is_folder(folder / name)) {
      throw data_error((folder / name).string() +
                       " does not belong beside the folder train: expected train, and test, val, valid or validation; "
                       "move it out of the data set");
    }
    if (!result.test.empty()) {
      throw data_error(folder.string() + " holds two test sets, " + result.test_folder.filename().string() + " and " +
                       name + ": expected one; move the other out of the data set");
    }
    result.test_folder = folder / name;
    result.test = classes_in(result.test_folder);
  }
  for (auto const& [name, pictures] : result.test) {
    if (std::ranges::find(result.training, name, &class_folder::name) == result.training.end()) {
      throw data_error((result.test_folder / name).string() +
                       " is a class without a training picture: "
                       "expected a folder of this name in " +
                       result.training_folder.string() + "; add it there, or move this one out of the data set");
    }
  }
  return result;
}

}  // namespace tutti::nn::detail::images
