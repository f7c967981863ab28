// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline saved_model {

/// An open file in the format safetensors: eight bytes with the length of the header, the header in JSON, the tensors.
/// The whole header is checked when the file is opened: then each tensor is where the header says, and no byte belongs
/// to two or to none. Memory is allocated for the header only.
///
/// (https://github.com/huggingface/safetensors: Format)
class tensor_file {
 public:
  /// A tensor in the file.
  struct entry {
    std::string name;
    std::string type;  ///< such as F32 or I64
    std::vector<std::size_t> shape;
    std::uint64_t begin;  ///< offset of its first byte, in the file
    std::uint64_t end;    ///< offset behind its last byte
  };

  /// The longest header that is read: a tensor takes about 100 bytes of it.
  static constexpr std::uint64_t longest_header = std::uint64_t{1} << 24;

  /// @throws model_error
  explicit tensor_file(std::filesystem::path const& name);

  /// The tensors, in the order of their bytes.
  [[nodiscard]] std::vector<entry> const& tensors() const noexcept { return tensors_; }
  /// The tensor of this name; null if there is none.
  [[nodiscard]] entry const* find(std::string_view name) const noexcept;
  /// A text of the header's metadata; null if there is none.
  [[nodiscard]] std::string const* metadata(std::string const& name) const;

  /// Reads the elements of a tensor.
  /// @pre the tensor is of type F32 and has as many elements
  /// @throws model_error
  void read(entry const& tensor, std::span<float> destination) const;

  [[noreturn]] void fail(std::string const& reason) const;

 private:
  /// Reads and checks the header's tensors and metadata. Errors do not name the file.
  void add_tensors(std::string_view header, std::uint64_t first, std::uint64_t size);
  void read_at(std::uint64_t offset, std::span<std::byte> destination) const;

  std::string name_;
  tutti::detail::descriptor file_;
  std::vector<entry> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// "[120, 400]"
[[nodiscard]] TUTTI_DECL std::string shape_text(std::span<std::size_t const> shape);

}  // namespace tutti::nn::detail::saved_model

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/saved_model/tensor_file.ipp>
#endif
