// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/cifar10.hpp>
#include <tutti/nn/data/dataset.hpp>
#include <tutti/nn/data/idx.hpp>

#include <algorithm>
#include <filesystem>
#include <string>

namespace tutti::nn {

/// The sets in a folder, whichever they are: batches of CIFAR-10, or four idx files as of MNIST.
/// @throws data_error if it holds files of both kinds or of neither, or as read_cifar10_folder or
/// read_idx_folder
[[nodiscard]] inline data_pair read_folder(std::filesystem::path const& folder) {
  bool const batches = !cifar10::files(folder, "data_batch").empty() || !cifar10::files(folder, "test_batch").empty();
  auto const idx_names = idx::files(folder);
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
