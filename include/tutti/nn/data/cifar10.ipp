// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/cifar10.hpp>
#include <tutti/nn/detail/data/cifar.hpp>
#include <tutti/nn/detail/data/file_names.hpp>

#include <filesystem>
#include <span>
#include <string>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL dataset read_cifar10(std::span<std::filesystem::path const> files) {
  if (files.empty()) {
    throw data_error("cifar10: there must be 1 file or more to read, not 0");
  }
  return detail::read_cifar(detail::cifar_10, files);
}

TUTTI_DECL data_pair read_cifar10_folder(std::filesystem::path const& folder) {
  auto const training = detail::cifar_files(folder, "data_batch");
  auto const test = detail::cifar_files(folder, "test_batch");
  if (training.empty() || test.empty()) {
    throw data_error(detail::should_hold(folder) + " these files, but does not:" +
                     (training.empty() ? "\n  data_batch_1.bin or data_batch_1.bin.gz, and so on" : "") +
                     (test.empty() ? "\n  test_batch.bin or test_batch.bin.gz" : ""));
  }
  data_pair result{read_cifar10(training), read_cifar10(test)};
  result.training.class_names = detail::read_class_names(folder / "batches.meta.txt", result.training.classes);
  result.test.class_names = result.training.class_names;
  return result;
}

}  // namespace tutti::nn
