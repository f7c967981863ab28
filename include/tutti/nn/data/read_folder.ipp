// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/cifar10.hpp>
#include <tutti/nn/data/idx.hpp>
#include <tutti/nn/data/read_folder.hpp>
#include <tutti/nn/detail/data/file_names.hpp>

#include <algorithm>
#include <filesystem>
#include <string>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL data_pair read_folder(std::filesystem::path const& folder) {
  bool const batches =
      !detail::cifar10_files(folder, "data_batch").empty() || !detail::cifar10_files(folder, "test_batch").empty();
  auto const idx_names = detail::idx_files(folder);
  bool const idx_files = std::ranges::any_of(idx_names, [](auto const& path) { return !path.empty(); });
  if (batches && idx_files) {
    throw data_error(folder.string() +
                     " holds both batches of CIFAR-10 and idx files: put each data set into a folder of its own");
  }
  if (batches) {
    return read_cifar10_folder(folder);
  }
  try {
    return read_idx_folder(folder);
  } catch (data_error const& e) {
    if (idx_files) {
      throw;
    }
    throw data_error(e.what() + std::string("\nnor those of CIFAR-10:\n  data_batch*.bin or data_batch*.bin.gz\n"
                                            "  test_batch*.bin or test_batch*.bin.gz"));
  }
}

}  // namespace tutti::nn
