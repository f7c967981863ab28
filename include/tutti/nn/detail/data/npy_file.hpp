// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/detail/data/gz_file.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline data {

/// A file in NumPy's format .npy, versions 1 to 3, in C order. Every problem is a data_error with the file's name.
///
/// Format: "\x93NUMPY", the version in two bytes, the length of the header in two bytes (version 1) or four, least
/// significant first, the header, which is a dictionary in Python's syntax, and the elements.
class npy_file {
 public:
  explicit npy_file(std::filesystem::path const& path);

  [[noreturn]] void fail(std::string const& reason) const { file_.fail(reason); }

  /// The type of the elements in NumPy's notation, such as "|u1" or "<i8".
  [[nodiscard]] std::string const& type() const noexcept { return type_; }

  [[nodiscard]] std::vector<std::size_t> const& shape() const noexcept { return shape_; }
  /// The shape in Python's notation, for errors.
  [[nodiscard]] std::string shape_text() const;

  /// Reads all elements.
  /// @throws data_error if the file does not have `bytes` bytes more, exactly
  [[nodiscard]] std::vector<std::uint8_t> read(std::size_t bytes);

 private:
  gz_file file_;
  std::string type_;
  std::vector<std::size_t> shape_;
};

}  // namespace tutti::nn::detail::data

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/data/npy_file.ipp>
#endif
