// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/detail/data/gz_file.hpp>
#include <tutti/nn/images/detail/jpeg.hpp>
#include <tutti/nn/images/detail/picture_file.hpp>
#include <tutti/nn/images/detail/png.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline images {

/// Throws the error of a file that is neither a PNG nor a JPEG picture.
[[noreturn]] TUTTI_DECL void refuse_kind(std::span<std::uint8_t const> bytes) {
  struct kind {
    std::string_view name;
    std::size_t place;
    std::string_view sign;
  };
  std::string contents = bytes.empty() ? "an empty file" : "something else";
  for (auto const& [name, place, sign] :
       {kind{"a WebP picture", 8, "WEBP"}, kind{"a GIF picture", 0, "GIF8"}, kind{"a HEIC or AVIF picture", 4, "ftyp"},
        kind{"a TIFF picture", 0, "II*"}, kind{"a BMP picture", 0, "BM"}, kind{"a web page", 0, "<"}}) {
    if (bytes.size() >= place + sign.size() &&
        std::equal(sign.begin(), sign.end(), bytes.begin() + static_cast<std::ptrdiff_t>(place))) {
      contents = name;
      break;
    }
  }
  throw data_error("is of another kind: expected a PNG or JPEG picture, found " + contents);
}

TUTTI_DECL picture_size size_in(std::span<std::uint8_t const> bytes) {
  if (!is_png(bytes) && !is_jpeg(bytes)) {
    refuse_kind(bytes);
  }
  auto const size = is_png(bytes) ? png_size(bytes) : jpeg_size(bytes);
  constexpr std::size_t max_side = 65'500;
  constexpr std::size_t max_pixels = 100'000'000;
  if (size.width > max_side || size.height > max_side || size.width * std::uint64_t{size.height} > max_pixels) {
    throw data_error("is too large: expected at most 65500 pixels a side and 100 million in all, found " +
                     std::to_string(size.width) + " x " + std::to_string(size.height));
  }
  return size;
}

/// Calls `use` with the first `count` bytes of the file, and with the file's size. Errors get the name of the file, and
/// the remedy.
template <class F>
auto with_bytes(std::filesystem::path const& path, std::size_t count, F&& use) {
  std::error_code problem;
  std::uint64_t const size = std::filesystem::file_size(path, problem);
  gz_file file(path);
  std::vector<std::uint8_t> bytes;
  file.append(bytes, static_cast<std::size_t>((std::min)(std::uint64_t{count}, problem ? 0 : size)));
  try {
    return use(std::span<std::uint8_t const>(bytes), size);
  } catch (data_error const& e) {
    file.fail(e.what() + std::string("; replace it, or move it out of the data set"));
  }
}

TUTTI_DECL picture_size read_picture_size(std::filesystem::path const& path) {
  constexpr std::size_t usual_header = 1U << 16;
  bool const has_more = with_bytes(path, usual_header, [](auto bytes, std::uint64_t file_size) {
    if (file_size > usual_header && (is_png(bytes) || is_jpeg(bytes))) {
      try {
        static_cast<void>(size_in(bytes));
      } catch (data_error const&) {
        return true;  // metadata may precede the size
      }
    }
    return false;
  });
  return with_bytes(path, has_more ? SIZE_MAX : usual_header, [](auto bytes, std::uint64_t) { return size_in(bytes); });
}

TUTTI_DECL picture read_picture(std::filesystem::path const& path, std::size_t needed_height,
                                std::size_t needed_width) {
  return with_bytes(path, SIZE_MAX, [&](std::span<std::uint8_t const> bytes, std::uint64_t) {
    static_cast<void>(size_in(bytes));
    return is_png(bytes) ? decode_png(bytes) : decode_jpeg(bytes, needed_height, needed_width);
  });
}

}  // namespace tutti::nn::detail::images
