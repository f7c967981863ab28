// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/images/detail/png.hpp>

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::nn::detail::inline images {

/// Reads one PNG picture by libpng, whose errors jump.
///
/// Only `start` and `read` are jumped into. They return false, and have no objects with destructors; neither do the
/// callbacks. Libpng's simplified interface, which needs no jumps, is not used: of interlaced pictures of 16 bits, some
/// versions of it make wrong ones, or write beyond their memory.
class png_reader {
 public:
  explicit png_reader(std::span<std::uint8_t const> bytes) : rest_(bytes) {
    file_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave, [](png_structp, png_const_charp) {});
    info_ = file_ == nullptr ? nullptr : png_create_info_struct(file_);
    if (info_ == nullptr || !start()) {
      close();
      fail();
    }
  }
  png_reader(png_reader const&) = delete;
  png_reader& operator=(png_reader const&) = delete;
  ~png_reader() { close(); }

  [[nodiscard]] picture_size size() const noexcept {
    return {png_get_image_width(file_, info_), png_get_image_height(file_, info_),
            (png_get_color_type(file_, info_) & PNG_COLOR_MASK_COLOR) != 0 ? 3U : 1U};
  }

  /// @pre the first call
  [[nodiscard]] picture read() {
    bool const has_alpha = (png_get_color_type(file_, info_) & PNG_COLOR_MASK_ALPHA) != 0 ||
                           png_get_valid(file_, info_, PNG_INFO_tRNS) != 0;
    picture result{size(), {}};
    std::size_t const channels = result.size.channels;
    result.pixels.resize(result.size.width * result.size.height * (channels + (has_alpha ? 1 : 0)));
    if (!read(result.pixels.data(), result.pixels.size() / result.size.height)) {
      fail();
    }
    if (has_alpha) {
      for (std::size_t i = 0; i != result.size.width * result.size.height; ++i) {
        auto const pixel = std::span(result.pixels).subspan(i * (channels + 1), channels + 1);
        unsigned const opacity = pixel[channels];
        for (std::size_t c = 0; c != channels; ++c) {
          result.pixels[i * channels + c] =
              static_cast<std::uint8_t>((pixel[c] * opacity + 255 * (255 - opacity) + 127) / 255);
        }
      }
      result.pixels.resize(result.size.width * result.size.height * channels);
    }
    return result;
  }

 private:
  static png_reader& self(png_voidp pointer) noexcept { return *static_cast<png_reader*>(pointer); }

  [[noreturn]] static void leave(png_structp file, png_const_charp text) {
    auto& output = self(png_get_error_ptr(file)).text_;
    std::string_view const message(text);
    output.fill(0);
    std::copy_n(message.begin(), (std::min)(message.size(), output.size() - 1), output.begin());
    png_longjmp(file, 1);
  }

  [[noreturn]] void fail() const { throw data_error("is a damaged PNG picture: " + std::string(text_.data())); }

  void close() noexcept { png_destroy_read_struct(&file_, &info_, nullptr); }

  bool start() {
    if (setjmp(png_jmpbuf(file_)) != 0) {
      return false;
    }
    png_set_crc_action(file_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_read_fn(file_, this, [](png_structp file, png_bytep data, std::size_t count) {
      auto& rest = self(png_get_io_ptr(file)).rest_;
      if (count > rest.size()) {
        png_error(file, "it is truncated");
      }
      std::copy_n(rest.begin(), count, data);
      rest = rest.subspan(count);
    });
    png_read_info(file_, info_);
    return true;
  }

  bool read(std::uint8_t* pixels, std::size_t row_bytes) {
    if (setjmp(png_jmpbuf(file_)) != 0) {
      return false;
    }
    png_set_expand(file_);
    png_set_scale_16(file_);
    int const passes = png_set_interlace_handling(file_);
    png_read_update_info(file_, info_);
    if (png_get_rowbytes(file_, info_) != row_bytes) {
      png_error(file_, "its rows have another length than its header announces");
    }
    for (int pass = 0; pass != passes; ++pass) {
      for (std::uint32_t y = 0; y != png_get_image_height(file_, info_); ++y) {
        png_read_row(file_, pixels + y * row_bytes, nullptr);
      }
    }
    png_read_end(file_, nullptr);
    return true;
  }

  std::span<std::uint8_t const> rest_;
  png_structp file_ = nullptr;
  png_infop info_ = nullptr;
  std::array<char, 128> text_{"out of memory"};
};

TUTTI_DECL bool is_png(std::span<std::uint8_t const> bytes) noexcept {
  return bytes.size() >= 8 && png_sig_cmp(bytes.data(), 0, 8) == 0;
}

TUTTI_DECL picture_size png_size(std::span<std::uint8_t const> bytes) {
  return png_reader(bytes).size();
}

TUTTI_DECL picture decode_png(std::span<std::uint8_t const> bytes) {
  return png_reader(bytes).read();
}

}  // namespace tutti::nn::detail::images
