// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/standard_numbers.hpp>
#include <tutti/nn/detail/data/file_names.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline data {

TUTTI_DECL std::vector<std::string> sorted_names(std::filesystem::path const& folder) {
  std::vector<std::string> names;
  std::error_code problem;
  tutti::detail::standard_numbers const reserved_numbers;
  for (std::filesystem::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

TUTTI_DECL std::string idx_file_name(std::string const& prefix, std::size_t file) {
  return prefix +
         (file < 2         ? "train"
          : prefix.empty() ? "t10k"
                           : "test") +
         (file % 2 == 0 ? "-images-idx3-ubyte" : "-labels-idx1-ubyte");
}

TUTTI_DECL std::vector<idx_set> idx_sets(std::filesystem::path const& folder) {
  std::vector<idx_set> sets;
  for (auto const& name : sorted_names(folder)) {  // in this order, the preferred form of a file comes first
    auto rest = std::string_view(name);
    auto const strip = [&](std::string_view ending) {
      bool const has_ending = rest.ends_with(ending);
      rest.remove_suffix(has_ending ? ending.size() : 0);
      return has_ending;
    };
    strip(".gz");
    std::size_t file = 0;
    if (strip("-labels-idx1-ubyte") || strip("-labels.idx1-ubyte")) {
      file = 1;
    } else if (!strip("-images-idx3-ubyte") && !strip("-images.idx3-ubyte")) {
      continue;
    }
    if (strip("t10k") || strip("test")) {
      file += 2;
    } else if (!strip("train")) {
      continue;
    }
    auto set = std::ranges::find(sets, rest, &idx_set::prefix);
    if (set == sets.end()) {
      set = sets.insert(set, {std::string(rest), {}});
    }
    if (set->files[file].empty()) {
      set->files[file] = folder / name;
    }
  }
  return sets;
}

TUTTI_DECL std::vector<std::filesystem::path> cifar_files(std::filesystem::path const& folder,
                                                          std::string_view beginning) {
  std::vector<std::filesystem::path> files;
  for (auto const& name : sorted_names(folder)) {
    if (name.starts_with(beginning) && (name.ends_with(".bin") || name.ends_with(".bin.gz"))) {
      files.push_back(folder / name);
    }
  }
  auto const packed_twin = [](std::filesystem::path const& plain, std::filesystem::path const& other) {
    return plain.string() + ".gz" == other.string();
  };
  auto const twins = std::ranges::unique(files, packed_twin);
  files.erase(twins.begin(), twins.end());
  return files;
}

TUTTI_DECL std::string should_hold(std::filesystem::path const& folder) {
  std::error_code ignored_error;
  return folder.string() + (std::filesystem::is_directory(folder, ignored_error) ? "" : " is not a folder; it") +
         " should hold";
}

}  // namespace tutti::nn::detail::data
