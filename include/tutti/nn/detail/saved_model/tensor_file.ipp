// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/base/message.hpp>
#include <tutti/nn/detail/saved_model/tensor_file.hpp>
#include <tutti/nn/saved_model/base/error.hpp>
#include <tutti/nn/saved_model/base/json.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline saved_model {

static_assert(std::endian::native == std::endian::little, "safetensors holds numbers in the order of the memory");

/// The bytes of an element of a type of safetensors; 0 if the type is unknown.
[[nodiscard]] inline std::uint64_t bytes_of_type(std::string_view type) noexcept {
  constexpr std::pair<std::string_view, std::uint64_t> sizes[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
      {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8}};
  auto const* const size = std::ranges::find(sizes, type, &std::pair<std::string_view, std::uint64_t>::first);
  return size == std::end(sizes) ? 0 : size->second;
}

TUTTI_DECL tensor_file::tensor_file(std::filesystem::path const& name)
    : name_(name.string()), file_([&] { return ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }) {
  if (!file_) {
    fail("cannot be opened: " + tutti::detail::advise_on_errno(errno));
  }
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    fail("is a folder or a device; give a file of safetensors");
  }
  auto const size = static_cast<std::uint64_t>(status.st_size);
  std::uint64_t length = 0;
  if (size < sizeof length) {
    fail(tutti::detail::message({"is cut short: it has ", size, " bytes, and the length of its header takes ",
                                 sizeof length, "; copy it again"}));
  }
  read_at(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > longest_header || length > size - sizeof length) {
    fail(tutti::detail::message({"is cut short, or no file of safetensors: bytes 0 to 7 announce a header of ", length,
                                 " bytes, ", size - sizeof length, " follow, and at most ", longest_header,
                                 " are read; copy it again"}));
  }
  std::string header(tutti::detail::integer_cast<std::size_t>(length), '\0');
  read_at(sizeof length, std::as_writable_bytes(std::span(header.data(), header.size())));
  try {
    add_tensors(header, sizeof length + length, size);
  } catch (model_error const& e) {
    fail(std::string("is damaged, or no file of safetensors: ") + e.what());
  }
}

TUTTI_DECL void tensor_file::add_tensors(std::string_view header, std::uint64_t first, std::uint64_t size) {
  constexpr std::size_t deepest = 3;
  auto const document = parse_json(header, deepest);
  if (!document.is_object()) {
    throw model_error(std::string("its header must be an object of JSON, not ") + document.type_name());
  }
  for (auto const& [name, value] : document.items()) {
    json_reader const reader(value, '"' + name + '"');
    if (name == "__metadata__") {
      for (auto const& text : value.items()) {
        metadata_[text.key()] = reader.text(text.key());
      }
      continue;
    }
    entry tensor{name, reader.text("dtype"), {}, 0, 0};
    std::uint64_t bytes = bytes_of_type(tensor.type);
    if (bytes == 0) {
      reader.fail("is of the unknown type " + tensor.type + "; convert it to F32");
    }
    for (auto const count : reader.member("shape").whole_numbers(UINT64_MAX)) {
      tensor.shape.push_back(count);
      if (count != 0 && bytes > size / count) {
        reader.fail(tutti::detail::message(
            {"has the shape ", shape_text(tensor.shape), "..., more than the ", size, " bytes of the file"}));
      }
      bytes *= count;
    }
    auto const offsets = reader.member("data_offsets").whole_numbers(size - first);
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] - offsets[0] != bytes) {
      reader.fail(tutti::detail::message(
          {"must have two offsets with ", bytes, " bytes between them, not ", shape_text(offsets)}));
    }
    tensor.begin = first + offsets[0];
    tensor.end = first + offsets[1];
    tensors_.push_back(std::move(tensor));
  }
  std::ranges::sort(tensors_, {}, [](entry const& e) { return std::tuple(e.begin, e.end); });
  std::uint64_t next = first;
  for (auto const& tensor : tensors_) {
    if (tensor.begin != next) {
      throw model_error(tutti::detail::message({'"' + tensor.name, "\" begins at byte ", tensor.begin, ", but must at ",
                                                next, ", where the tensor before it ends"}));
    }
    next = tensor.end;
  }
  if (next != size) {
    throw model_error(
        tutti::detail::message({"its tensors end at byte ", next, ", and the file at byte ", size, "; copy it again"}));
  }
}

TUTTI_DECL tensor_file::entry const* tensor_file::find(std::string_view name) const noexcept {
  auto const at = std::ranges::find(tensors_, name, &entry::name);
  return at == tensors_.end() ? nullptr : &*at;
}

TUTTI_DECL std::string const* tensor_file::metadata(std::string const& name) const {
  auto const at = metadata_.find(name);
  return at == metadata_.end() ? nullptr : &at->second;
}

TUTTI_DECL void tensor_file::read(entry const& tensor, std::span<float> destination) const {
  read_at(tensor.begin, std::as_writable_bytes(destination));
}

TUTTI_DECL void tensor_file::fail(std::string const& reason) const {
  throw model_error(name_ + ' ' + reason);
}

TUTTI_DECL void tensor_file::read_at(std::uint64_t offset, std::span<std::byte> destination) const {
  while (!destination.empty()) {
    constexpr std::size_t limit = std::size_t{1} << 30;
    ssize_t const byte_count =
        ::pread(file_.get(), destination.data(), (std::min)(destination.size(), limit), static_cast<off_t>(offset));
    if (byte_count > 0) {
      offset += static_cast<std::uint64_t>(byte_count);
      destination = destination.subspan(static_cast<std::size_t>(byte_count));
    } else if (byte_count == 0 || errno != EINTR) {
      fail(tutti::detail::message({byte_count == 0 ? "was cut short while it was read"
                                                   : "cannot be read: " + tutti::detail::describe_errno(errno),
                                   ", at byte ", offset}));
    }
  }
}

TUTTI_DECL std::string shape_text(std::span<std::size_t const> shape) {
  std::string text = "[";
  for (std::size_t const count : shape) {
    text.append(text.size() == 1 ? "" : ", ").append(std::to_string(count));
  }
  return text + ']';
}

}  // namespace tutti::nn::detail::saved_model
