// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/images/detail/jpeg.hpp>

// jpeglib.h needs this header, and does not include it.
#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <jpeglib.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0::nn::detail::inline images {

/// Reads one JPEG picture by libjpeg, whose errors jump.
///
/// Only `start` and `read` are jumped into. They return false, and have no objects with destructors; neither do the
/// callbacks. Corrupt data is an error, though libjpeg itself only warns about it. Before the pixels begin a warning is
/// about metadata, and ignored.
class jpeg_reader {
 public:
  explicit jpeg_reader(std::span<std::uint8_t const> bytes) {
    state_.err = jpeg_std_error(&errors_);
    state_.client_data = this;
    errors_.error_exit = leave;
    errors_.emit_message = [](j_common_ptr state, int level) {
      if (level < 0 && self(state).are_pixels_read_) {
        leave(state);
      }
    };
    progress_.progress_monitor = [](j_common_ptr state) {
      constexpr int max_scans = 500;  // a small file with more takes very long
      if (self(state).state_.input_scan_number > max_scans) {
        leave(state);
      }
    };
    if (!start(bytes)) {
      jpeg_destroy_decompress(&state_);
      fail();
    }
  }
  jpeg_reader(jpeg_reader const&) = delete;
  jpeg_reader& operator=(jpeg_reader const&) = delete;
  ~jpeg_reader() { jpeg_destroy_decompress(&state_); }

  [[nodiscard]] picture_size size() const noexcept {
    return {state_.image_width, state_.image_height, state_.jpeg_color_space == JCS_GRAYSCALE ? 1U : 3U};
  }

  /// The orientation in the EXIF data, from 1, upright, to 8.
  [[nodiscard]] unsigned orientation() const noexcept {
    for (auto const* marker = state_.marker_list; marker != nullptr; marker = marker->next) {
      if (unsigned const value = exif_orientation(std::span(marker->data, marker->data_length)); value != 0) {
        return value;
      }
    }
    return 1;
  }

  /// Returns the picture at 1 / `divisor` of its size. @pre the first call
  [[nodiscard]] picture read(unsigned divisor) {
    bool const is_cmyk = state_.jpeg_color_space == JCS_CMYK || state_.jpeg_color_space == JCS_YCCK;
    state_.scale_denom = divisor;
    state_.out_color_space = size().channels == 1 ? JCS_GRAYSCALE : is_cmyk ? JCS_CMYK : JCS_RGB;
    std::size_t const channels = is_cmyk ? 4 : size().channels;
    // libjpeg rounds sizes up.
    picture result{{(size().width + divisor - 1) / divisor, (size().height + divisor - 1) / divisor, channels}, {}};
    result.pixels.resize(result.size.width * result.size.height * channels);
    if (!read(result.pixels.data(), result.size)) {
      fail();
    }
    if (is_cmyk) {
      convert_cmyk(result);
    }
    return result;
  }

 private:
  static jpeg_reader& self(j_common_ptr state) noexcept { return *static_cast<jpeg_reader*>(state->client_data); }

  [[noreturn]] static void leave(j_common_ptr state) {
    state->err->format_message(state, self(state).text_.data());
    std::longjmp(self(state).place_, 1);
  }

  [[noreturn]] void fail() const { throw data_error("is a damaged JPEG picture: " + std::string(text_.data())); }

  bool start(std::span<std::uint8_t const> bytes) {
    if (setjmp(place_) != 0) {
      return false;
    }
    jpeg_create_decompress(&state_);
    state_.progress = &progress_;
    jpeg_mem_src(&state_, bytes.data(), bytes.size());
    jpeg_save_markers(&state_, JPEG_APP0 + 1, 0xffff);  // EXIF
    jpeg_read_header(&state_, true);
    return true;
  }

  bool read(std::uint8_t* pixels, picture_size const& size) {
    if (setjmp(place_) != 0) {
      return false;
    }
    are_pixels_read_ = true;
    jpeg_start_decompress(&state_);
    if (state_.output_width != size.width || state_.output_height != size.height ||
        static_cast<std::size_t>(state_.output_components) != size.channels) {
      return false;
    }
    while (state_.output_scanline != state_.output_height) {
      JSAMPROW row = pixels + state_.output_scanline * size.width * size.channels;
      jpeg_read_scanlines(&state_, &row, 1);
    }
    jpeg_finish_decompress(&state_);
    return true;
  }

  /// The orientation in a marker; 0 if it has none.
  static unsigned exif_orientation(std::span<std::uint8_t const> marker) noexcept {
    constexpr std::string_view sign("Exif\0\0", 6);
    if (marker.size() < 14 || !std::equal(sign.begin(), sign.end(), marker.begin())) {
      return 0;
    }
    auto const exif = marker.subspan(sign.size());
    bool const is_big_endian = exif[0] == 'M';
    auto const number = [&](std::size_t at, std::size_t bytes) {  // 0 beyond the end
      std::size_t value = 0;
      for (std::size_t i = 0; i != bytes && at <= exif.size() && bytes <= exif.size() - at; ++i) {
        value = value << 8 | exif[at + (is_big_endian ? i : bytes - 1 - i)];
      }
      return value;
    };
    constexpr std::size_t orientation_tag = 0x112;
    std::size_t const directory = number(4, 4);
    for (std::size_t entry = 0; entry != number(directory, 2); ++entry) {
      std::size_t const at = directory + 2 + 12 * entry;
      if (number(at, 2) == orientation_tag) {
        auto const value = static_cast<unsigned>(number(at + 8, 2));
        return value <= 8 ? value : 0;
      }
    }
    return 0;
  }

  /// Converts cyan, magenta, yellow and black to red, green and blue. Adobe's files hold inverted values.
  void convert_cmyk(picture& p) const {
    for (std::size_t i = 0; i != p.pixels.size() / 4; ++i) {
      std::array<unsigned, 4> ink{};
      std::copy_n(p.pixels.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, ink.begin());
      for (std::size_t c = 0; c != 3; ++c) {
        p.pixels[3 * i + c] = static_cast<std::uint8_t>(
            (state_.saw_Adobe_marker != 0 ? ink[c] * ink[3] : (255 - ink[c]) * (255 - ink[3])) / 255);
      }
    }
    p.size.channels = 3;
    p.pixels.resize(p.size.width * p.size.height * 3);
  }

  jpeg_decompress_struct state_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf place_{};
  std::array<char, JMSG_LENGTH_MAX> text_{};
  bool are_pixels_read_ = false;
};

/// Turns a picture upright, from an orientation of EXIF.
TUTTI_DECL picture upright(picture original, unsigned orientation) {
  if (orientation == 1) {
    return original;
  }
  auto const [width, height, channels] = original.size;
  bool const is_transposed = orientation >= 5;
  bool const mirrors_columns = orientation == 2 || orientation == 3 || orientation >= 7;
  bool const mirrors_rows = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  picture result{{is_transposed ? height : width, is_transposed ? width : height, channels}, {}};
  result.pixels.resize(original.pixels.size());
  auto output = result.pixels.begin();
  for (std::size_t y = 0; y != result.size.height; ++y) {
    for (std::size_t x = 0; x != result.size.width; ++x) {
      std::size_t const column = is_transposed ? y : x;
      std::size_t const row = is_transposed ? x : y;
      std::size_t const source =
          (mirrors_rows ? height - 1 - row : row) * width + (mirrors_columns ? width - 1 - column : column);
      output = std::copy_n(original.pixels.begin() + static_cast<std::ptrdiff_t>(source * channels), channels, output);
    }
  }
  return result;
}

TUTTI_DECL bool is_jpeg(std::span<std::uint8_t const> bytes) noexcept {
  return bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

TUTTI_DECL picture_size jpeg_size(std::span<std::uint8_t const> bytes) {
  return jpeg_reader(bytes).size();
}

TUTTI_DECL picture decode_jpeg(std::span<std::uint8_t const> bytes, std::size_t needed_height,
                               std::size_t needed_width) {
  jpeg_reader reader(bytes);
  unsigned const orientation = reader.orientation();
  if (orientation >= 5) {
    std::swap(needed_height, needed_width);
  }
  unsigned divisor = 8;
  while (divisor != 1 &&
         (reader.size().width < 2 * divisor * needed_width || reader.size().height < 2 * divisor * needed_height)) {
    divisor /= 2;
  }
  return upright(reader.read(divisor), orientation);
}

}  // namespace tutti::nn::detail::images
