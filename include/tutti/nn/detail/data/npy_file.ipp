// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/data/npy_file.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline data {

TUTTI_DECL npy_file::npy_file(std::filesystem::path const& path) : file_(path) {
  constexpr std::array<std::uint8_t, 6> magic{0x93, 'N', 'U', 'M', 'P', 'Y'};
  std::array<std::uint8_t, 12> start{};
  file_.read(std::span(start).first(8));
  if (!std::equal(magic.begin(), magic.end(), start.begin())) {
    fail("is a file of another kind: expected NumPy's format .npy; write it with numpy.save");
  }
  std::size_t const version = start[6];
  if (version < 1 || version > 3) {
    fail("is in version " + std::to_string(version) + " of the format .npy: expected 1, 2 or 3; save it again");
  }
  std::size_t const length_bytes = version == 1 ? 2 : 4;
  std::size_t length = file_.read(std::span(start).subspan(8, length_bytes)) == length_bytes ? 0 : SIZE_MAX;
  for (std::size_t i = length_bytes; length != SIZE_MAX && i != 0; --i) {
    length = length << 8 | start[7 + i];
  }
  constexpr std::size_t max_length = 1U << 16;
  std::vector<std::uint8_t> header;
  if (length > max_length || file_.append(header, length) != length) {
    fail("is truncated, or has a false header: expected a header of at most " + std::to_string(max_length) +
         " bytes; save it again");
  }
  std::string const text(header.begin(), header.end());
  // The text of a value, from its first character to the end of the header.
  auto const value = [&](std::string const& key) {
    std::size_t const at = text.find("'" + key + "'");
    std::size_t const begin = at == text.npos ? at : text.find_first_not_of(" :", at + key.size() + 2);
    if (begin == text.npos) {
      fail("has a false header: expected the entry '" + key + "', found none; save it again");
    }
    return std::string_view(text).substr(begin);
  };
  if (auto const type = value("descr"); type.starts_with('\'')) {
    type_ = type.substr(1, type.find('\'', 1) - 1);
  } else {
    fail("has records as elements: expected numbers; save the images and the labels in a file each");
  }
  if (!value("fortran_order").starts_with("False")) {
    fail("is in Fortran's order: expected C order; save numpy.ascontiguousarray(a) instead of the array a");
  }
  auto const shape = value("shape");
  bool is_valid = shape.starts_with('(') && shape.find(')') != shape.npos;
  bool is_number = false;
  for (char const c : is_valid ? shape.substr(1, shape.find(')') - 1) : shape.substr(0, 0)) {
    if (c >= '0' && c <= '9') {
      if (!is_number) {
        shape_.push_back(0);
      }
      is_valid = is_valid && shape_.back() < SIZE_MAX / 100;
      shape_.back() = shape_.back() * 10 + static_cast<std::size_t>(c - '0');
    } else {
      is_valid = is_valid && (c == ',' || c == ' ' || c == 'L');  // Python 2 wrote (3L, 2L)
    }
    is_number = c >= '0' && c <= '9';
  }
  if (!is_valid) {
    fail("has a false header: expected a shape such as (3, 28, 28), found " +
         std::string(shape.substr(0, shape.find_first_of(")\n"))) + "; save it again");
  }
}

TUTTI_DECL std::string npy_file::shape_text() const {
  std::string text = "(";
  for (std::size_t const length : shape_) {
    text += (text.size() == 1 ? "" : ", ") + std::to_string(length);
  }
  return text + (shape_.size() == 1 ? ",)" : ")");
}

TUTTI_DECL std::vector<std::uint8_t> npy_file::read(std::size_t bytes) {
  file_.expect(bytes);
  std::vector<std::uint8_t> elements;
  if (std::size_t const byte_count = file_.append(elements, bytes); byte_count != bytes) {
    fail("is truncated: expected " + std::to_string(bytes) + " bytes of elements, found " + std::to_string(byte_count));
  }
  if (std::array<std::uint8_t, 1> byte{}; file_.read(byte) != 0) {
    fail("continues after the last element that its header announces");
  }
  return elements;
}

}  // namespace tutti::nn::detail::data
