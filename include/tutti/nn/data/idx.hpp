// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/dataset.hpp>

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::nn {

/// Reads files in the idx format of MNIST, plain or compressed with gzip.
///
/// Format: two zero bytes, 8 for bytes, the number of dimensions, each dimension as 32 bits (most
/// significant byte first), then the elements.
namespace idx {

inline constexpr std::uint32_t images_magic = 0x0803;  ///< bytes, three dimensions
inline constexpr std::uint32_t labels_magic = 0x0801;  ///< bytes, one dimension

/// A file that is read from its start to its end, unpacked if it is packed.
class reader {
 public:
  explicit reader(std::filesystem::path const& path) : path_(path.string()), file_(gzopen(path_.c_str(), "rb")) {
    if (file_ == nullptr) {
      fail("cannot be opened: " + std::string(errno != 0 ? std::strerror(errno) : "out of memory"));
    }
    gzbuffer(file_, 1 << 17);
  }
  ~reader() { gzclose(file_); }
  reader(reader const&) = delete;
  reader& operator=(reader const&) = delete;

  [[noreturn]] void fail(std::string const& why) const { throw data_error(path_ + " " + why); }

  /// Appends `count` bytes to `to`. Reads in pieces, so that a header that promises too much costs no
  /// more memory than the file holds.
  void append(std::vector<std::uint8_t>& to, std::size_t count, std::string const& what) {
    std::size_t missing = count;
    while (missing != 0) {
      std::size_t const piece = missing < 1U << 24 ? missing : 1U << 24;
      std::size_t const old = to.size();
      to.resize(old + piece);
      std::size_t const got = read(to.data() + old, piece);
      missing -= got;
      if (got != piece) {
        fail("is truncated: expected " + std::to_string(count) + " bytes of " + what + ", found " +
             std::to_string(count - missing));
      }
    }
  }

  std::uint32_t word(std::string const& what) {
    std::array<std::uint8_t, 4> bytes{};
    std::size_t const got = read(bytes.data(), bytes.size());
    if (got != bytes.size()) {
      fail("is truncated: expected 4 bytes of the header, " + what + ", found " + std::to_string(got));
    }
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
  }

  void expect_end() {
    std::uint8_t byte = 0;
    if (read(&byte, 1) != 0) {
      fail("goes on after the last element that its header announces");
    }
  }

 private:
  std::size_t read(std::uint8_t* to, std::size_t count) {
    int const got = gzread(file_, to, static_cast<unsigned>(count));
    int code = Z_OK;
    std::string_view const text = gzerror(file_, &code);
    if (code == Z_BUF_ERROR) {
      fail("is truncated: its gzip stream ends too early");
    }
    if (got < 0) {
      fail("cannot be read: " + (code == Z_ERRNO ? std::string(std::strerror(errno)) : std::string(text)));
    }
    return static_cast<std::size_t>(got);
  }

  std::string path_;
  gzFile file_;
};

inline std::string in_hex(std::uint32_t word) {
  std::string text = "0x00000000";
  for (std::size_t i = 0; i != 8; ++i) {
    text[9 - i] = "0123456789abcdef"[word >> 4 * i & 15U];
  }
  return text;
}

inline void expect_magic(reader& file, std::uint32_t expected) {
  auto const meaning = [](std::uint32_t magic) {
    return std::string(magic == images_magic ? " (idx images)" : magic == labels_magic ? " (idx labels)" : "");
  };
  std::uint32_t const found = file.word("the magic number");
  if (found != expected) {
    file.fail("is not what it should be: expected the magic number " + in_hex(expected) + meaning(expected) +
              ", found " + in_hex(found) + meaning(found));
  }
}

}  // namespace idx

/// The data set in a file of images and a file of labels.
/// @throws data_error if one is missing, truncated, longer than announced or of another kind, if their
/// counts differ, or if a label is not below `classes`
[[nodiscard]] inline dataset read_idx(std::filesystem::path const& images, std::filesystem::path const& labels,
                                      std::size_t classes = 10) {
  dataset result;
  result.classes = classes;
  idx::reader pictures(images);
  idx::expect_magic(pictures, idx::images_magic);
  std::size_t const count = pictures.word("the number of images");
  image_shape& shape = result.shape;
  shape.rows = pictures.word("the rows of an image");
  shape.columns = pictures.word("the columns of an image");
  if (count == 0 || shape.rows == 0 || shape.columns == 0 || shape.rows > 4096 || shape.columns > 4096) {
    pictures.fail("has no usable header: expected at least one image of 1 x 1 to 4096 x 4096 pixels, found " +
                  std::to_string(count) + " of " + std::to_string(shape.rows) + " x " + std::to_string(shape.columns));
  }

  idx::reader names(labels);
  idx::expect_magic(names, idx::labels_magic);
  std::size_t const named = names.word("the number of labels");
  if (named != count) {
    names.fail("does not belong to " + images.string() + ": expected " + std::to_string(count) +
               " labels, one per image, found " + std::to_string(named));
  }

  pictures.append(result.pixels, count * result.features(), "pixels");
  pictures.expect_end();
  names.append(result.labels, count, "labels");
  names.expect_end();
  for (std::size_t i = 0; i != count; ++i) {
    if (result.labels[i] >= classes) {
      names.fail("is mislabelled: expected labels from 0 to " + std::to_string(classes - 1) + ", found " +
                 std::to_string(result.labels[i]) + " for image " + std::to_string(i));
    }
  }
  return result;
}

/// The sets in a folder that holds the four files of MNIST, or of a set published the same way, plain
/// or with .gz, named `train-images-idx3-ubyte` or `train-images.idx3-ubyte` and so on.
/// @throws data_error that lists the files looked for, if one is missing, or as read_idx
[[nodiscard]] inline data_pair read_idx_folder(std::filesystem::path const& folder) {
  std::array<std::filesystem::path, 4> found;
  std::string missing;
  constexpr std::array<std::array<std::string_view, 2>, 4> wanted{{{"train-images", "idx3-ubyte"},
                                                                   {"train-labels", "idx1-ubyte"},
                                                                   {"t10k-images", "idx3-ubyte"},
                                                                   {"t10k-labels", "idx1-ubyte"}}};
  for (std::size_t i = 0; i != wanted.size(); ++i) {
    std::string looked_for;
    for (char const* separator : {"-", "."}) {
      for (char const* ending : {"", ".gz"}) {
        auto const name = std::string(wanted[i][0]) + separator + std::string(wanted[i][1]) + ending;
        looked_for += (looked_for.empty() ? "\n  " : " or ") + name;
        std::error_code ignored;
        if (found[i].empty() && std::filesystem::exists(folder / name, ignored)) {
          found[i] = folder / name;
        }
      }
    }
    if (found[i].empty()) {
      missing += looked_for;
    }
  }
  if (!missing.empty()) {
    std::error_code ignored;
    throw data_error(folder.string() + (std::filesystem::is_directory(folder, ignored) ? "" : " is not a folder; it") +
                     " should hold these files, but does not:" + missing);
  }
  data_pair result;
  result.training = read_idx(found[0], found[1]);
  result.test = read_idx(found[2], found[3]);
  if (auto const& [trained, tested] = std::pair{result.training.shape, result.test.shape}; trained != tested) {
    throw data_error(folder.string() + " does not hold one data set: the training images have " +
                     std::to_string(trained.rows) + " x " + std::to_string(trained.columns) +
                     " pixels, the test images " + std::to_string(tested.rows) + " x " +
                     std::to_string(tested.columns));
  }
  return result;
}

}  // namespace tutti::nn
