// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/cifar10.hpp>
#include <tutti/nn/data/cifar100.hpp>
#include <tutti/nn/data/idx.hpp>
#include <tutti/nn/data/npy.hpp>
#include <tutti/nn/data/read_folder.hpp>
#include <tutti/nn/detail/data/file_names.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL data_pair read_folder(std::filesystem::path const& folder) {
  struct kind {
    std::string_view name;
    std::string_view files;
    bool exists;
    data_pair (*read)(std::filesystem::path const&);
  };
  auto const has_cifar = [&](std::string_view training, std::string_view test) {
    return !detail::cifar_files(folder, training).empty() || !detail::cifar_files(folder, test).empty();
  };
  bool const has_npy = std::ranges::any_of(detail::sorted_names(folder), [](std::string_view name) {
    return name.ends_with("_images.npy") || name.ends_with("_labels.npy");
  });
  std::vector<kind> kinds{
      {"idx files", "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte",
       !detail::idx_sets(folder).empty(), read_idx_folder},
      {"files of CIFAR-10", "data_batch*.bin, test_batch*.bin", has_cifar("data_batch", "test_batch"),
       read_cifar10_folder},
      {"files of CIFAR-100", "train.bin, test.bin", has_cifar("train.bin", "test.bin"), read_cifar100_folder},
      {"arrays of NumPy", "train_images.npy, train_labels.npy, and perhaps test_images.npy, test_labels.npy", has_npy,
       read_npy_folder}};
  if (std::ranges::none_of(kinds, &kind::exists)) {
    std::string text = detail::should_hold(folder) + " the files of one of these kinds, but does not:";
    for (auto const& k : kinds) {
      text.append("\n  ").append(k.name).append(": ").append(k.files);
    }
    throw data_error(text + "\n  pictures, read by tutti::nn_images: *.png, *.jpg in a subfolder for each class");
  }
  std::erase_if(kinds, [](kind const& k) { return !k.exists; });
  if (kinds.size() > 1) {
    throw data_error(folder.string() + " holds both " + std::string(kinds[0].name) + " and " +
                     std::string(kinds[1].name) + ": put each data set into a folder of its own");
  }
  return kinds[0].read(folder);
}

}  // namespace tutti::nn
