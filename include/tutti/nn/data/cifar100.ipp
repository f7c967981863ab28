// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/cifar100.hpp>
#include <tutti/nn/detail/data/cifar.hpp>
#include <tutti/nn/detail/data/file_names.hpp>

#include <filesystem>
#include <string>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL data_pair read_cifar100_folder(std::filesystem::path const& folder) {
  auto const training = detail::cifar_files(folder, "train.bin");
  auto const test = detail::cifar_files(folder, "test.bin");
  if (training.empty() || test.empty()) {
    throw data_error(detail::should_hold(folder) +
                     " these files, but does not:" + (training.empty() ? "\n  train.bin or train.bin.gz" : "") +
                     (test.empty() ? "\n  test.bin or test.bin.gz" : ""));
  }
  data_pair result{detail::read_cifar(detail::cifar_100, training), detail::read_cifar(detail::cifar_100, test)};
  result.training.class_names = detail::read_class_names(folder / "fine_label_names.txt", result.training.classes);
  result.test.class_names = result.training.class_names;
  return result;
}

}  // namespace tutti::nn
