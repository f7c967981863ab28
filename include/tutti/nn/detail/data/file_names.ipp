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

TUTTI_DECL std::array<std::string, 4> idx_file_names(std::size_t which) {
  constexpr std::array<std::string_view, 4> parts{"train-images", "train-labels", "t10k-images", "t10k-labels"};
  auto const part = std::string(parts[which]);
  auto const kind = std::string(which % 2 == 0 ? "idx3-ubyte" : "idx1-ubyte");
  return {part + "-" + kind, part + "-" + kind + ".gz", part + "." + kind, part + "." + kind + ".gz"};
}

TUTTI_DECL std::array<std::filesystem::path, 4> idx_files(std::filesystem::path const& folder) {
  std::array<std::filesystem::path, 4> found;
  for (std::size_t i = 0; i != found.size(); ++i) {
    for (auto const& name : idx_file_names(i)) {
      std::error_code ignored;
      if (found[i].empty() && std::filesystem::exists(folder / name, ignored)) {
        found[i] = folder / name;
      }
    }
  }
  return found;
}

TUTTI_DECL std::vector<std::filesystem::path> cifar10_files(std::filesystem::path const& folder,
                                                            std::string_view beginning) {
  std::vector<std::filesystem::path> found;
  std::error_code problem;
  tutti::detail::standard_numbers const occupied;
  for (std::filesystem::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    auto const name = at->path().filename().string();
    if (name.starts_with(beginning) && (name.ends_with(".bin") || name.ends_with(".bin.gz"))) {
      found.push_back(at->path());
    }
  }
  std::ranges::sort(found);
  auto const packed_twin = [](std::filesystem::path const& plain, std::filesystem::path const& other) {
    return plain.string() + ".gz" == other.string();
  };
  auto const twins = std::ranges::unique(found, packed_twin);
  found.erase(twins.begin(), twins.end());
  return found;
}

}  // namespace tutti::nn::detail::data
