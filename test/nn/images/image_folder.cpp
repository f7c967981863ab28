// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <support/data_files.hpp>
#include <tutti/error.hpp>
#include <tutti/nn/base/image_store.hpp>
#include <tutti/nn/checkpoint/base/fingerprint.hpp>
#include <tutti/nn/data/image_source.hpp>
#include <tutti/nn/data/normalisation.hpp>
#include <tutti/nn/data/pad.hpp>
#include <tutti/nn/data/split.hpp>
#include <tutti/nn/images/detail/jpeg.hpp>
#include <tutti/nn/images/detail/picture.hpp>
#include <tutti/nn/images/detail/picture_cache.hpp>
#include <tutti/nn/images/detail/picture_file.hpp>
#include <tutti/nn/images/detail/picture_names.hpp>
#include <tutti/nn/images/detail/png.hpp>
#include <tutti/nn/images/detail/scaling.hpp>
#include <tutti/nn/images/read_folder.hpp>
#include <tutti/nn/images/read_image.hpp>
#include <tutti/nn/images/read_image_folder.hpp>

#include <boost/test/unit_test.hpp>
#include <png.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <jpeglib.h>
#include <span>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace nn = tutti::nn;
namespace fs = std::filesystem;
using support::bytes;
using support::expect_part;

namespace {

template <class F>
std::string complaint(F&& f) {
  try {
    (void)f();
  } catch (nn::data_error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

/// The samples of a picture, row after row, the channels of a pixel beside each other.
struct samples {
  unsigned width;
  unsigned height;
  unsigned channels;
  bytes values;
};

/// A picture whose samples are a function of column, row and channel.
samples draw(unsigned width, unsigned height, unsigned channels,
             std::function<unsigned(unsigned, unsigned, unsigned)> const& f) {
  samples result{width, height, channels, {}};
  for (unsigned y = 0; y != height; ++y) {
    for (unsigned x = 0; x != width; ++x) {
      for (unsigned c = 0; c != channels; ++c) {
        result.values.push_back(static_cast<std::uint8_t>(f(x, y, c)));
      }
    }
  }
  return result;
}

/// A picture without any regularity.
samples noise(unsigned width, unsigned height, unsigned channels) {
  return draw(width, height, channels,
              [](unsigned x, unsigned y, unsigned c) { return x * x * 7 + y * 31 + x * y + c * 50; });
}

/// A picture that JPEG changes little, without symmetries.
samples slope(unsigned width, unsigned height, unsigned channels) {
  return draw(width, height, channels,
              [&](unsigned x, unsigned y, unsigned c) { return 20 + c * 30 + x * 100 / width + y * 50 / height; });
}

/// A PNG file; samples of 16 bits are the bytes of the picture, in pairs.
bytes png(samples const& p, int colour, int depth = 8, bool is_interlaced = false) {
  bytes result;
  png_structp const file = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop const info = png_create_info_struct(file);
  png_set_write_fn(
      file, &result,
      [](png_structp f, png_bytep data, std::size_t size) {
        auto& output = *static_cast<bytes*>(png_get_io_ptr(f));
        output.insert(output.end(), data, data + size);
      },
      [](png_structp) {});
  png_set_IHDR(file, info, p.width, p.height, depth, colour, is_interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette;
  for (unsigned i = 0; i != 1U << std::min(depth, 8); ++i) {
    palette.push_back({static_cast<png_byte>(i), static_cast<png_byte>(255 - i), 7});
  }
  if (colour == PNG_COLOR_TYPE_PALETTE) {
    png_set_PLTE(file, info, palette.data(), static_cast<int>(palette.size()));
  }
  png_write_info(file, info);
  std::size_t const row = (std::size_t{p.width} * p.channels * static_cast<std::size_t>(depth) + 7) / 8;
  std::vector<png_bytep> rows;
  bytes values = p.values;
  values.resize(row * p.height);
  for (unsigned y = 0; y != p.height; ++y) {
    rows.push_back(values.data() + y * row);
  }
  png_write_image(file, rows.data());
  png_write_end(file, info);
  png_destroy_write_struct(const_cast<png_structpp>(&file), const_cast<png_infopp>(&info));
  return result;
}

/// EXIF data with an orientation, behind another entry.
bytes exif(unsigned orientation, bool is_big_endian) {
  bytes result{'E', 'x', 'i', 'f', 0, 0};
  auto const add = [&](unsigned value, unsigned count) {
    for (unsigned i = 0; i != count; ++i) {
      result.push_back(static_cast<std::uint8_t>(value >> 8 * (is_big_endian ? count - 1 - i : i)));
    }
  };
  result.insert(result.end(), 2, is_big_endian ? 'M' : 'I');
  add(42, 2);
  add(8, 4);
  add(2, 2);
  for (auto const& [tag, value] : {std::pair{0x10fU, 0U}, std::pair{0x112U, orientation}}) {
    add(tag, 2);
    add(3, 2);
    add(1, 4);
    add(value, 2);
    add(0, 2);
  }
  return result;
}

bytes jpeg(samples const& p, bytes const& metadata = {}, bool is_progressive = false) {
  jpeg_compress_struct state{};
  jpeg_error_mgr errors{};
  state.err = jpeg_std_error(&errors);
  jpeg_create_compress(&state);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&state, &memory, &size);
  state.image_width = p.width;
  state.image_height = p.height;
  state.input_components = static_cast<int>(p.channels);
  state.in_color_space = p.channels == 1 ? JCS_GRAYSCALE : p.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&state);
  jpeg_set_quality(&state, 98, TRUE);
  if (is_progressive) {
    jpeg_simple_progression(&state);
  }
  jpeg_start_compress(&state, TRUE);
  if (!metadata.empty()) {
    jpeg_write_marker(&state, JPEG_APP0 + 1, metadata.data(), static_cast<unsigned>(metadata.size()));
  }
  bytes values = p.values;
  while (state.next_scanline != state.image_height) {
    JSAMPROW row = values.data() + std::size_t{state.next_scanline} * p.width * p.channels;
    jpeg_write_scanlines(&state, &row, 1);
  }
  jpeg_finish_compress(&state);
  jpeg_destroy_compress(&state);
  bytes const result(memory, memory + size);
  std::free(memory);
  return result;
}

/// The samples in the order of an image.
bytes planar(samples const& p) {
  bytes result;
  for (unsigned c = 0; c != p.channels; ++c) {
    for (std::size_t i = c; i < p.values.size(); i += p.channels) {
      result.push_back(p.values[i]);
    }
  }
  return result;
}

nn::image_shape shape_of(samples const& p) {
  return {p.channels, p.height, p.width};
}

/// The largest difference of two images.
int distance(bytes const& a, bytes const& b) {
  BOOST_REQUIRE(a.size() == b.size());
  int largest = 0;
  for (std::size_t i = 0; i != a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

/// A folder with pictures; `write` makes the folders of a name.
struct picture_folder : support::folder {
  fs::path write(std::string const& name, bytes const& content) const {
    fs::create_directories((path / name).parent_path());
    return write_plain(name, content);
  }
};

bytes const grey_png = png(noise(6, 5, 1), PNG_COLOR_TYPE_GRAY);
bytes const colour_png = png(noise(6, 5, 3), PNG_COLOR_TYPE_RGB);

/// Calls f in a forked process, and returns its status of exit.
template <class F>
int in_child(F&& f) {
  pid_t const child = ::fork();
  if (child == 0) {
    ::_exit(f());
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

BOOST_AUTO_TEST_CASE(png_pictures_are_read_exactly) {
  picture_folder const f;
  for (bool const is_interlaced : {false, true}) {
    auto const read = [&](samples const& p, int colour, int depth, nn::image_shape const& shape) {
      return nn::read_image(f.write("p.png", png(p, colour, depth, is_interlaced)), shape);
    };
    auto const grey = noise(13, 9, 1);
    auto const colour = noise(13, 9, 3);
    BOOST_TEST((read(grey, PNG_COLOR_TYPE_GRAY, 8, shape_of(grey)) == planar(grey)));
    BOOST_TEST((read(colour, PNG_COLOR_TYPE_RGB, 8, shape_of(colour)) == planar(colour)));

    auto const palette = read(grey, PNG_COLOR_TYPE_PALETTE, 8, shape_of(colour));
    for (std::size_t i = 0; i != grey.values.size(); ++i) {
      BOOST_TEST(palette[i] == grey.values[i]);
      BOOST_TEST(palette[grey.values.size() + i] == 255 - grey.values[i]);
      BOOST_TEST(palette[2 * grey.values.size() + i] == 7);
    }

    auto const wide =
        draw(26, 9, 1, [](unsigned x, unsigned y, unsigned) { return x / 2 * 19 + y; });  // pairs: v * 257
    auto const of_16_bits = read({13, 9, 1, wide.values}, PNG_COLOR_TYPE_GRAY, 16, {1, 9, 13});
    for (std::size_t i = 0; i != of_16_bits.size(); ++i) {
      BOOST_TEST(of_16_bits[i] == wide.values[2 * i]);
    }

    auto const of_1_bit = read({8, 2, 1, {0xa5, 0x0f}}, PNG_COLOR_TYPE_GRAY, 1, {1, 2, 8});
    BOOST_TEST((of_1_bit == bytes{255, 0, 255, 0, 0, 255, 0, 255, 0, 0, 0, 0, 255, 255, 255, 255}));

    for (unsigned const channels : {2U, 4U}) {  // the last channel: opaque on the left, transparent on the right
      auto const p = draw(4, 3, channels, [&](unsigned x, unsigned y, unsigned c) {
        return c == channels - 1 ? (x < 2 ? 255 : 0) : x * 40 + y * 20 + c;
      });
      auto const blended_image =
          read(p, channels == 2 ? PNG_COLOR_TYPE_GRAY_ALPHA : PNG_COLOR_TYPE_RGB_ALPHA, 8, {channels - 1, 3, 4});
      for (std::size_t i = 0; i != blended_image.size(); ++i) {
        auto const pixel = i % 12;
        BOOST_TEST(blended_image[i] == (pixel % 4 < 2 ? p.values[pixel * channels + i / 12] : 255));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(jpeg_pictures_are_read_closely) {
  picture_folder const f;
  for (unsigned const channels : {1U, 3U}) {
    for (bool const is_progressive : {false, true}) {
      auto const p = slope(32, 24, channels);
      auto const image = nn::read_image(f.write("p.jpg", jpeg(p, {}, is_progressive)), shape_of(p));
      BOOST_TEST(distance(image, planar(p)) <= 8);
    }
  }
  // Adobe's values are inverted: 255 is no ink. libjpeg writes Adobe's marker.
  auto const inks = draw(16, 16, 4, [](unsigned x, unsigned, unsigned c) { return c == 3 ? 200 : 100 + c * 40 + x; });
  auto const image = nn::read_image(f.write("p.jpg", jpeg(inks)), {3, 16, 16});
  for (std::size_t i = 0; i != image.size(); ++i) {
    BOOST_TEST(std::abs(image[i] - inks.values[i % 256 * 4 + i / 256] * 200 / 255) <= 8);
  }
}

BOOST_AUTO_TEST_CASE(every_orientation_is_turned_upright) {
  picture_folder const f;
  constexpr std::size_t side = 16;
  auto const p = slope(side, side, 1);
  auto const original = nn::read_image(f.write("p.jpg", jpeg(p)), shape_of(p));
  auto const change = [](bytes const& image, auto&& source) {
    bytes result;
    for (std::size_t i = 0; i != image.size(); ++i) {
      result.push_back(image[source(i / side, i % side)]);
    }
    return result;
  };
  auto const mirror = [&](bytes const& image) {
    return change(image, [](std::size_t row, std::size_t column) { return row * side + side - 1 - column; });
  };
  auto const flip = [&](bytes const& image) {
    return change(image, [](std::size_t row, std::size_t column) { return (side - 1 - row) * side + column; });
  };
  auto const transposed_image =
      change(original, [](std::size_t row, std::size_t column) { return column * side + row; });
  std::vector<bytes> const expected{
      original,         mirror(original),         mirror(flip(original)),         flip(original),
      transposed_image, mirror(transposed_image), mirror(flip(transposed_image)), flip(transposed_image)};
  for (bool const is_big_endian : {false, true}) {
    for (unsigned orientation = 0; orientation != 10; ++orientation) {  // 0 and 9 mean nothing
      auto const file = f.write("p.jpg", jpeg(p, exif(orientation, is_big_endian)));
      auto const valid = orientation >= 1 && orientation <= 8 ? orientation : 1;
      BOOST_TEST((nn::read_image(file, shape_of(p)) == expected[valid - 1]), "orientation " << orientation);
    }
  }
  // A wide picture that stands: its image is high.
  auto const wide = slope(32, 16, 1);
  auto const high = nn::read_image(f.write("p.jpg", jpeg(wide, exif(6, true))), {1, 32, 16});
  auto const lying = nn::read_image(f.write("p.jpg", jpeg(wide)), {1, 16, 32});
  for (std::size_t row = 0; row != 32; ++row) {
    for (std::size_t column = 0; column != 16; ++column) {
      BOOST_TEST(high[row * 16 + column] == lying[(15 - column) * 32 + row]);
    }
  }
}

BOOST_AUTO_TEST_CASE(pictures_of_any_size_are_scaled_and_cropped) {
  picture_folder const f;
  auto const read = [&](samples const& p, nn::image_shape const& shape) {
    return nn::read_image(f.write("p.png", png(p, p.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB)), shape);
  };
  for (unsigned const width : {1U, 2U, 7U, 20U, 200U}) {  // one colour remains that colour
    for (unsigned const height : {1U, 3U, 20U, 90U}) {
      auto const image = read(draw(width, height, 1, [](unsigned, unsigned, unsigned) { return 201; }), {1, 20, 15});
      BOOST_TEST((image == bytes(20 * 15, 201)));
    }
  }
  auto const wide = draw(40, 20, 1, [](unsigned x, unsigned y, unsigned) { return x * 6 + y; });
  auto const middle = read(wide, {1, 20, 20});
  auto const half = read(wide, {1, 10, 20});
  for (std::size_t i = 0; i != middle.size(); ++i) {
    BOOST_TEST(middle[i] == (10 + i % 20) * 6 + i / 20);
  }
  for (std::size_t i = 0; i != half.size(); ++i) {  // a slope remains one, except at the edges
    auto const column = i % 20;
    if (column != 0 && column != 19 && i / 20 != 0 && i / 20 != 9) {
      BOOST_TEST(std::abs(half[i] -
                          (12.0 * static_cast<double>(column) + 3 + 2.0 * static_cast<double>(i / 20) + 0.5)) <= 1.0);
    }
  }
  // Lines as thin as a pixel are averaged, not dropped.
  auto const lines = draw(64, 64, 1, [](unsigned x, unsigned, unsigned) { return x % 2 == 0 ? 255 : 0; });
  for (std::uint8_t const value : read(lines, {1, 8, 8})) {
    BOOST_TEST(std::abs(value - 127) <= 8);
  }
  // A large JPEG picture, which is decoded smaller.
  auto const large = slope(700, 500, 3);
  auto const small = nn::read_image(f.write("p.jpg", jpeg(large)), {3, 20, 28});
  BOOST_TEST(distance(small, read(large, {3, 20, 28})) <= 6);

  auto const colours = draw(2, 1, 3, [](unsigned x, unsigned, unsigned c) { return x == 0 && c == 1 ? 200 : 100; });
  BOOST_TEST((read(colours, {1, 1, 2}) == bytes{159, 100}));
  BOOST_TEST(
      (read(draw(2, 1, 1, [](unsigned x, unsigned, unsigned) { return x; }), {3, 1, 2}) == bytes{0, 1, 0, 1, 0, 1}));
  BOOST_CHECK_THROW((void)nn::read_image(f.path / "p.png", {2, 8, 8}), tutti::precondition_error);
  BOOST_CHECK_THROW((void)nn::read_image(f.path / "p.png", {1, 0, 8}), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(damaged_files_are_errors_or_whole_images) {
  picture_folder const f;
  for (auto const& whole :
       {grey_png, colour_png, png(noise(9, 9, 3), PNG_COLOR_TYPE_PALETTE, 4, true), jpeg(slope(9, 9, 1)),
        jpeg(slope(9, 9, 3), exif(6, true)), jpeg(slope(9, 9, 3), {}, true), jpeg(slope(9, 9, 4))}) {
    nn::image_shape const shape{3, 4, 4};
    BOOST_TEST(nn::read_image(f.write("whole", whole), shape).size() == shape.size());
    auto const read = [&](bytes const& content) -> bytes {
      auto const file = f.write("p", content);
      try {
        return nn::read_image(file, shape);
      } catch (nn::data_error const& e) {
        std::string const text = e.what();
        BOOST_REQUIRE_MESSAGE(text.starts_with(file.string() + " is "), text);
        BOOST_REQUIRE_MESSAGE(text.ends_with("; replace it, or move it out of the data set"), text);
      }
      return {};
    };
    for (std::size_t length = 0; length != whole.size(); ++length) {
      auto const result = read(bytes(whole.begin(), whole.begin() + static_cast<long>(length)));
      BOOST_TEST(result.empty(), "truncated to " << length << " of " << whole.size());
    }
    for (std::size_t at = 0; at != whole.size(); ++at) {
      for (std::uint8_t const change : {std::uint8_t{1}, std::uint8_t{0x80}, std::uint8_t{0xff}}) {
        bytes content = whole;
        content[at] ^= change;
        auto const result = read(content);
        BOOST_REQUIRE((result.empty() || result.size() == shape.size()));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(files_of_other_kinds_and_too_large_pictures_are_refused_at_opening) {
  picture_folder const f;
  f.write("a/good.png", grey_png);
  auto const refuse = [&](bytes const& content, std::string const& part) {
    auto const file = f.write("b/p.jpg", content);
    auto const text = complaint([&] { return nn::read_image_folder(f.path); });
    BOOST_TEST(text.starts_with(file.string() + " is "), text);
    expect_part(text, part);
    BOOST_TEST(complaint([&] { return nn::read_image(file, {1, 8, 8}); }) == text);
  };
  refuse({}, "expected a PNG or JPEG picture, found an empty file");
  refuse({'R', 'I', 'F', 'F', 0, 0, 0, 0, 'W', 'E', 'B', 'P'}, "found a WebP picture");
  refuse({'G', 'I', 'F', '8', '9', 'a'}, "found a GIF picture");
  refuse({'x'}, "found something else; replace it, or move it out of the data set");
  refuse(bytes(grey_png.begin(), grey_png.begin() + 20), "damaged PNG picture");
  refuse({0xff, 0xd8, 0xff}, "damaged JPEG picture");
  refuse(png(draw(65'501, 1, 1, [](unsigned, unsigned, unsigned) { return 0; }), PNG_COLOR_TYPE_GRAY),
         "is too large: expected at most 65500 pixels a side and 100 million in all, found 65501 x 1");
  bytes vast = jpeg(slope(8, 8, 1));  // the sizes are in the bytes 5 to 8 of the marker SOF0
  auto const sof = std::ranges::search(vast, bytes{0xff, 0xc0}).begin();
  std::copy_n(bytes{0x40, 0, 0x40, 0}.begin(), 4, sof + 5);
  refuse(vast, "found 16384 x 16384");
  // Metadata of any length may precede the size.
  bytes long_metadata = jpeg(slope(8, 8, 3));
  for (int i = 0; i != 3; ++i) {
    bytes segment{0xff, 0xe2, 0xff, 0xff};
    segment.resize(0x10001);
    long_metadata.insert(long_metadata.begin() + 2, segment.begin(), segment.end());
  }
  f.write("b/p.jpg", long_metadata);
  BOOST_TEST((nn::read_image_folder(f.path).training.shape == nn::image_shape{3, 32, 32}));
}

BOOST_AUTO_TEST_CASE(folders_with_a_subfolder_for_each_class) {
  picture_folder const f;
  f.write("dog/b.png", grey_png);
  f.write("dog/a.JPG", jpeg(slope(40, 30, 1)));
  f.write("cat/c.Jpeg", jpeg(slope(40, 30, 1)));
  f.write("cat/Thumbs.db", {1});
  f.write("cat/.DS_Store", {1});
  f.write(".hidden/x", {1});
  f.write("desktop.ini", {1});
  fs::create_symlink(f.path / "dog/b.png", f.path / "cat/link.png");
  auto const data = nn::read_folder(f.path, {.side = 5});
  BOOST_TEST(data.test.size() == 0U);
  BOOST_TEST((data.training.shape == nn::image_shape{1, 5, 5}));
  BOOST_TEST((data.training.class_names == std::vector<std::string>{"cat", "dog"}));
  BOOST_TEST(data.training.classes == 2U);
  BOOST_TEST((data.training.labels == bytes{0, 0, 1, 1}));  // c.Jpeg, link.png, a.JPG, b.png
  BOOST_TEST(std::ranges::equal(data.training.image(1), nn::read_image(f.path / "dog/b.png", {1, 5, 5})));
  BOOST_TEST(std::ranges::equal(data.training.image(2), nn::read_image(f.path / "dog/a.JPG", {1, 5, 5})));
  BOOST_TEST(nn::read_image_folder(f.path, {.side = 5, .channels = 3}).training.shape.channels == 3U);
  f.write("dog/colour.png", colour_png);
  BOOST_TEST(nn::read_image_folder(f.path, {.side = 5}).training.shape.channels == 3U);
  BOOST_TEST(nn::read_image_folder(f.path, {.side = 5, .channels = 1}).training.shape.channels == 1U);
  BOOST_CHECK_THROW((void)nn::read_image_folder(f.path, {.side = 0}), tutti::precondition_error);
  BOOST_CHECK_THROW((void)nn::read_image_folder(f.path, {.side = 8, .channels = 2}), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(folders_with_a_test_set) {
  for (char const* const test : {"test", "val", "valid", "validation"}) {
    picture_folder const f;
    f.write("train/cat/1.png", grey_png);
    f.write("train/dog/1.png", grey_png);
    f.write(std::string(test) + "/dog/1.png", colour_png);
    auto const data = nn::read_image_folder(f.path, {.side = 4});
    BOOST_TEST((data.training.labels == bytes{0, 1}));
    BOOST_TEST((data.test.labels == bytes{1}));
    BOOST_TEST((data.test.class_names == data.training.class_names));
    BOOST_TEST((data.training.shape == nn::image_shape{3, 4, 4}));  // one picture is in colour
    BOOST_TEST((data.test.shape == data.training.shape));
    BOOST_TEST(std::ranges::equal(data.test.image(0), nn::read_image(f.path / test / "dog/1.png", {3, 4, 4})));
  }
}

BOOST_AUTO_TEST_CASE(what_does_not_belong_into_a_folder_of_pictures_is_named) {
  picture_folder const f;
  auto const expect = [&](fs::path const& file, std::string const& part) {
    auto const text = complaint([&] { return nn::read_image_folder(f.path); });
    BOOST_TEST(text.starts_with(file.string() + " "), text);
    expect_part(text, part);
    fs::remove_all(file);
  };
  expect_part(complaint([&] { return nn::read_image_folder(f.path); }), "should hold from 1 to 256 subfolders");
  expect_part(complaint([&] { return nn::read_image_folder(f.path / "none"); }),
              "should hold from 1 to 256 subfolders");
  expect_part(complaint([&] { return nn::read_folder(f.path, nn::image_options{}); }),
              "pictures, read by tutti::nn_images");
  f.write("dog/a.png", grey_png);
  expect(f.write("dog/notes.txt", {1}), "expected *.png, *.jpg or *.jpeg files only; move it out");
  expect(f.write("dog/more/a.png", grey_png).parent_path(), "expected *.png, *.jpg or *.jpeg files only; move it out");
  expect(f.write("labels.csv", {1}), "expected a subfolder for each class");
  fs::create_directories(f.path / "empty");
  expect(f.path / "empty", "is the folder of a class without pictures");
  fs::create_symlink(f.path / "nowhere", f.path / "dog/lost.png");
  expect(f.path / "dog/lost.png", "cannot be opened: No such file");

  f.write("train/cat/a.png", grey_png);
  expect(f.path / "dog", "does not belong beside the folder train");
  expect(f.write("test/cow/a.png", grey_png).parent_path(), "is a class without a training picture");
  fs::remove_all(f.path / "test");
  f.write("test/cat/a.png", grey_png);
  f.write("val/cat/a.png", grey_png);
  expect_part(complaint([&] { return nn::read_image_folder(f.path); }), "holds two test sets, test and val");

  for (int i = 0; i != 257; ++i) {
    f.write("many/" + std::to_string(i) + "/a.png", grey_png);
  }
  expect_part(complaint([&] { return nn::read_image_folder(f.path / "many"); }), "found 257");
}

BOOST_AUTO_TEST_CASE(damage_behind_a_header_is_found_when_the_image_is_needed) {
  picture_folder const f;
  f.write("a/1.png", grey_png);
  auto const file = f.write("a/2.png", bytes(grey_png.begin(), grey_png.end() - 20));
  auto const set = nn::read_image_folder(f.path, {.side = 4}).training;
  BOOST_TEST(set.image(0).size() == 16U);
  auto const text = complaint([&] { return set.image(1); });
  BOOST_TEST(text.starts_with(file.string() + " is a damaged PNG picture: "), text);
}

BOOST_AUTO_TEST_CASE(images_are_kept_within_the_memory_for_them) {
  picture_folder const f;
  for (unsigned i = 0; i != 3; ++i) {
    f.write("a/" + std::to_string(i) + ".png", png(noise(4 + i, 4, 1), PNG_COLOR_TYPE_GRAY));
  }
  auto const set = nn::read_image_folder(f.path, {.side = 4, .cache_bytes = 33}).training;  // space for two images
  bytes first;
  for (std::size_t i = 0; i != 3; ++i) {
    auto const image = set.image(i);
    first.insert(first.end(), image.begin(), image.end());
  }
  fs::remove_all(f.path / "a");
  BOOST_TEST(std::ranges::equal(set.image(0), std::span(first).first(16)));
  BOOST_TEST(std::ranges::equal(set.image(1), std::span(first).subspan(16, 16)));
  expect_part(complaint([&] { return set.image(2); }), "cannot be opened");
}

BOOST_AUTO_TEST_CASE(threads_and_processes_share_decoded_images) {
  picture_folder const f;
  constexpr unsigned count = 40;
  for (unsigned i = 0; i != count; ++i) {
    f.write("a/" + std::to_string(100 + i) + ".png", png(noise(40 + i, 40, 3), PNG_COLOR_TYPE_RGB));
  }
  nn::image_options const options{.side = 16};
  auto const set = nn::read_image_folder(f.path, options).training;
  auto const second_set = nn::read_image_folder(f.path, options).training;
  std::vector<bytes> expected;
  for (unsigned i = 0; i != count; ++i) {
    expected.push_back(nn::read_image(f.path / ("a/" + std::to_string(100 + i) + ".png"), set.shape));
  }
  auto const are_equal = [&](nn::dataset const& s) {
    for (unsigned i = 0; i != count; ++i) {
      if (!std::ranges::equal(s.image(i), expected[i])) {
        return false;
      }
    }
    return true;
  };
  // Four processes decode at the same time; then the files are gone.
  std::vector<pid_t> children;
  for (int rank = 0; rank != 4; ++rank) {
    children.push_back(::fork());
    if (children.back() == 0) {
      ::_exit(are_equal(set) ? 0 : 1);
    }
  }
  for (pid_t const child : children) {
    int status = -1;
    BOOST_TEST(::waitpid(child, &status, 0) == child);
    BOOST_TEST(status == 0);
  }
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i != 4; ++i) {
    threads.emplace_back([&] { right += are_equal(second_set) ? 1 : 0; });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  BOOST_TEST(right == 4);
  fs::remove_all(f.path / "a");
  BOOST_TEST(are_equal(set));
  BOOST_TEST(are_equal(second_set));
}

BOOST_AUTO_TEST_CASE(a_process_that_is_killed_while_it_writes_an_image_harms_no_other) {
  nn::detail::picture_cache cache(2, 3);
  bytes const image{1, 2, 3};
  int const status = in_child([&] {
    bool const is_claimed = cache.claim(0) && cache.claim(1);
    cache.publish(1, image);
    ::raise(is_claimed ? SIGKILL : SIGTERM);
    return 0;
  });
  BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
  BOOST_TEST(cache.find(0).empty());
  BOOST_TEST(!cache.claim(0));  // nobody else writes where the process may have begun to
  BOOST_TEST(std::ranges::equal(cache.find(1), image));
  BOOST_TEST(!cache.claim(1));
  BOOST_TEST(!cache.claim(2));
  BOOST_TEST(cache.find(2).empty());
}

BOOST_AUTO_TEST_CASE(a_set_with_a_store_is_used_like_one_in_memory) {
  picture_folder const f;
  for (unsigned i = 0; i != 12; ++i) {
    f.write((i % 2 == 0 ? "a/" : "b/") + std::to_string(100 + i) + ".png",
            png(noise(8 + i, 8, 1), PNG_COLOR_TYPE_GRAY));
  }
  auto const set = nn::read_image_folder(f.path, {.side = 6}).training;
  nn::dataset plain{set.shape, set.classes, {}, set.labels, set.class_names};
  for (std::size_t i = 0; i != set.size(); ++i) {
    plain.pixels.insert(plain.pixels.end(), set.image(i).begin(), set.image(i).end());
  }
  BOOST_TEST((nn::pad(set, 9).pixels == nn::pad(plain, 9).pixels));
  auto const scores = nn::to_standard_scores(set);
  auto const plain_scores = nn::to_standard_scores(plain);
  BOOST_TEST(scores.channels()[0].factor == plain_scores.channels()[0].factor);
  BOOST_TEST(scores.channels()[0].offset == plain_scores.channels()[0].offset);

  std::vector<std::uint32_t> const image_numbers{7, 0, 11};
  nn::batch_room room(3, set.features());
  nn::batch_room plain_room(3, set.features());
  nn::image_source(set, scores, nn::crop_and_flip{}).fill(image_numbers, 3, room);
  nn::image_source(plain, scores, nn::crop_and_flip{}).fill(image_numbers, 3, plain_room);
  BOOST_TEST(std::ranges::equal(room.numbers(3), plain_room.numbers(3)));
  BOOST_TEST(std::ranges::equal(room.labels(3), plain_room.labels(3)));

  auto const parts = nn::split(set, 0.4, 5);
  auto const plain_parts = nn::split(plain, 0.4, 5);
  BOOST_TEST((parts.test.labels == plain_parts.test.labels));
  for (std::size_t i = 0; i != parts.test.size(); ++i) {
    BOOST_TEST(std::ranges::equal(parts.test.image(i), plain_parts.test.image(i)));
  }

  auto const text = [](nn::dataset const& s) { return nn::fingerprint().add("images", s).text(); };
  auto const again = [&] { return nn::read_image_folder(f.path, {.side = 6}).training; };
  BOOST_TEST(text(set) == text(again()));
  BOOST_TEST(text(parts.test) == text(nn::split(again(), 0.4, 5).test));
  BOOST_TEST(text(parts.test) != text(nn::split(set, 0.4, 6).test));
  fs::rename(f.path / "a/100.png", f.path / "a/099.png");
  BOOST_TEST(text(set) != text(again()));
  fs::rename(f.path / "a/099.png", f.path / "a/100.png");
  f.write("a/100.png", grey_png);
  BOOST_TEST(text(set) != text(again()));
}
