// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline data {

/// One of the data sets in the binary version of CIFAR.
struct cifar_kind {
  std::string_view name;
  std::size_t label_bytes;  ///< labels of an image; the last one is its class
  std::size_t classes;
};

inline constexpr cifar_kind cifar_10{"CIFAR-10", 1, 10};
inline constexpr cifar_kind cifar_100{"CIFAR-100", 2, 100};

/// Reads the images of these files, at least one, in order.
[[nodiscard]] TUTTI_DECL dataset read_cifar(cifar_kind const& kind, std::span<std::filesystem::path const> files);

/// Reads the names of classes, one a line; none if there is no such file.
/// @throws data_error if the file has another number of names
[[nodiscard]] TUTTI_DECL std::vector<std::string> read_class_names(std::filesystem::path const& file,
                                                                   std::size_t classes);

}  // namespace tutti::nn::detail::data

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/data/cifar.ipp>
#endif
