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

TUTTI_DECL std::array<std::string, 4> idx_file_names(std::size_t file) {
  constexpr std::array<std::string_view, 4> parts{"train-images", "train-labels", "t10k-images", "t10k-labels"};
  auto const part = std::string(parts[file]);
  auto const kind = std::string(file % 2 == 0 ? "idx3-ubyte" : "idx1-ubyte");
  return {part + "-" + kind, part + "-" + kind + ".gz", part + "." + kind, part + "." + kind + ".gz"};
}

TUTTI_DECL std::array<std::filesystem::path, 4> idx_files(std::filesystem::path const& folder) {
  std::array<std::filesystem::path, 4> files;
  for (std::size_t i = 0; i != files.size(); ++i) {
    for (auto const& name : idx_file_names(i)) {
      std::error_code ignored_error;
      if (files[i].empty() && std::filesystem::exists(folder / name, ignored_error)) {
        files[i] = folder / name;
      }
    }
  }
  return files;
}

TUTTI_DECL std::vector<std::filesystem::path> cifar10_files(std::filesystem::path const& folder,
                                                            std::string_view beginning) {
  std::vector<std::filesystem::path> files;
  std::error_code problem;
  tutti::detail::standard_numbers const reserved_numbers;
  for (std::filesystem::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    auto const name = entry->path().filename().string();
    if (name.starts_with(beginning) && (name.ends_with(".bin") || name.ends_with(".bin.gz"))) {
      files.push_back(entry->path());
    }
  }
  std::ranges::sort(files);
  auto const packed_twin = [](std::filesystem::path const& plain, std::filesystem::path const& other) {
    return plain.string() + ".gz" == other.string();
  };
  auto const twins = std::ranges::unique(files, packed_twin);
  files.erase(twins.begin(), twins.end());
  return files;
}

}  // namespace tutti::nn::detail::data
