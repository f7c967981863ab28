// SPDX-License-Identifier: Apache-2.0
// test: address
#include <support/data_files.hpp>
#include <tutti/nn/data/idx.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace nn = tutti::nn;
namespace fs = std::filesystem;
using bytes = support::bytes;
using support::expect_part;
using support::folder;
using support::idx_file;

namespace {

bytes const three_images = idx_file(0x803, {3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255});
bytes const three_labels = idx_file(0x801, {3}, {7, 0, 9});

/// The message of the data_error thrown by reading, which must name the file.
std::string complaint(fs::path const& images, fs::path const& labels, fs::path const& culprit) {
  try {
    (void)nn::read_idx(images, labels);
  } catch (nn::data_error const& e) {
    std::string const text = e.what();
    BOOST_TEST(text.starts_with(culprit.string()), text);
    return text;
  }
  return "nothing was thrown";
}

}  // namespace

BOOST_AUTO_TEST_CASE(plain_and_packed_files_are_read_alike) {
  folder const f;
  auto const i = f.write_plain("i", three_images);
  auto const l = f.write_plain("l", three_labels);
  auto const iz = f.write_compressed("i.gz", three_images);
  auto const lz = f.write_compressed("l.gz", three_labels);
  for (auto const& [images, labels] : {std::pair{i, l}, std::pair{iz, lz}, std::pair{i, lz}}) {
    auto const data = nn::read_idx(images, labels);
    BOOST_TEST(data.size() == 3U);
    BOOST_TEST(data.shape.rows == 2U);
    BOOST_TEST(data.shape.columns == 2U);
    BOOST_TEST((data.pixels == bytes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255}));
    BOOST_TEST((data.labels == bytes{7, 0, 9}));
    BOOST_TEST(data.image(1)[0] == 4);
  }
}

BOOST_AUTO_TEST_CASE(missing_files) {
  folder const f;
  auto const l = f.write_plain("l", three_labels);
  expect_part(complaint(f.path / "none", l, f.path / "none"), "cannot be opened: No such file");
}

BOOST_AUTO_TEST_CASE(every_truncation_is_found) {
  folder const f;
  auto const i = f.write_plain("i", three_images);
  auto const l = f.write_plain("l", three_labels);
  for (std::size_t length = 0; length != three_images.size(); ++length) {
    auto const short_file =
        f.write_plain("cut", bytes(three_images.begin(), three_images.begin() + static_cast<long>(length)));
    expect_part(complaint(short_file, l, short_file), "is truncated: expected ");
  }
  for (std::size_t length = 0; length != three_labels.size(); ++length) {
    auto const short_file =
        f.write_plain("cut", bytes(three_labels.begin(), three_labels.begin() + static_cast<long>(length)));
    expect_part(complaint(i, short_file, short_file), "is truncated: expected ");
  }
  expect_part(complaint(f.write_plain("cut", bytes(three_images.begin(), three_images.end() - 5)), l, f.path / "cut"),
              "expected 12 bytes of pixels, found 7");
}

BOOST_AUTO_TEST_CASE(truncated_and_damaged_compression) {
  folder const f;
  auto const l = f.write_plain("l", three_labels);
  auto const compressed_file = f.write_compressed("i.gz", three_images);
  std::ifstream stream(compressed_file, std::ios::binary);
  bytes const whole{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  auto const short_file = f.write_plain("cut.gz", bytes(whole.begin(), whole.end() - 9));
  expect_part(complaint(short_file, l, short_file), "is truncated");
  bytes wrong = whole;
  wrong[wrong.size() - 6] ^= 0x55U;  // the checksum at the end
  auto const damaged_file = f.write_plain("damaged.gz", wrong);
  expect_part(complaint(damaged_file, l, damaged_file), "cannot be read: incorrect data check");
}

BOOST_AUTO_TEST_CASE(foreign_files) {
  folder const f;
  auto const i = f.write_plain("i", three_images);
  auto const l = f.write_plain("l", three_labels);
  auto const png = f.write_plain("png", {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'});
  expect_part(complaint(png, l, png), "expected the magic number 0x00000803 (idx images), found 0x89504e47");
  expect_part(complaint(l, i, l), "found 0x00000801 (idx labels)");  // the files are exchanged
  expect_part(complaint(i, i, i), "expected the magic number 0x00000801 (idx labels), found 0x00000803 (idx images)");
}

BOOST_AUTO_TEST_CASE(files_that_do_not_belong_together) {
  folder const f;
  auto const i = f.write_plain("i", three_images);
  auto const l = f.write_plain("l", idx_file(0x801, {2}, {1, 2}));
  expect_part(complaint(i, l, l), "expected 3 labels, one per image, found 2");
}

BOOST_AUTO_TEST_CASE(labels_beyond_the_classes) {
  folder const f;
  auto const i = f.write_plain("i", three_images);
  auto const l = f.write_plain("l", idx_file(0x801, {3}, {1, 10, 2}));
  expect_part(complaint(i, l, l), "expected labels from 0 to 9, found 10 for image 1");
}

BOOST_AUTO_TEST_CASE(more_than_the_header_announces) {
  folder const f;
  auto const l = f.write_plain("l", three_labels);
  bytes longer = three_images;
  longer.push_back(0);
  auto const i = f.write_plain("i", longer);
  expect_part(complaint(i, l, i), "continues after the last element");
}

BOOST_AUTO_TEST_CASE(unusable_headers_cost_no_memory) {
  folder const f;
  auto const l = f.write_plain("l", idx_file(0x801, {0xffffffffU}, {1}));
  auto const huge = f.write_plain("i", idx_file(0x803, {0xffffffffU, 4096, 4096}, {1, 2}));
  expect_part(complaint(huge, l, huge), "is truncated");
  auto const empty = f.write_plain("e", idx_file(0x803, {0, 28, 28}, {}));
  expect_part(complaint(empty, l, empty), "at least one image");
  auto const wide = f.write_plain("w", idx_file(0x803, {1, 28, 70000}, {}));
  expect_part(complaint(wide, l, wide), "28 x 70000");
}

BOOST_AUTO_TEST_CASE(what_a_packed_file_cannot_hold_is_refused_by_its_header) {
  // Refused even if the file has the bytes that its header announces: zeros compress a thousandfold.
  folder const f;
  constexpr std::uint32_t count = 500'000;
  auto const labels = f.write_compressed("l.gz", idx_file(0x801, {count}, bytes(count)));
  auto const images = f.write_bomb("i.gz", idx_file(0x803, {count, 28, 28}, {}), 1);
  expect_part(complaint(images, labels, images), "unpacks to more than 268435456 bytes");
  auto const labels_file = f.write_bomb("n.gz", idx_file(0x801, {0xffffffffU}, {}), 1);
  auto const plain = f.write_plain("p", idx_file(0x803, {0xffffffffU, 1, 1}, {1, 2}));
  expect_part(complaint(plain, labels_file, labels_file), "unpacks to more than");
}

BOOST_AUTO_TEST_CASE(folders) {
  folder const f;
  auto const problem = [&](fs::path const& path) {
    try {
      (void)nn::read_idx_folder(path);
      return std::string("nothing was thrown");
    } catch (nn::data_error const& e) {
      return std::string(e.what());
    }
  };
  for (auto const& path : {f.path, f.path / "none"}) {
    auto const text = problem(path);
    for (char const* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz", "t10k-images.idx3-ubyte",
                             "t10k-labels.idx1-ubyte.gz"}) {
      expect_part(text, name);
    }
    expect_part(text, path.string());
  }
  expect_part(problem(f.path / "none"), "is not a folder");
  f.write_plain("train-images-idx3-ubyte", three_images);
  f.write_compressed("train-labels.idx1-ubyte.gz", three_labels);
  f.write_plain("t10k-images-idx3-ubyte", idx_file(0x803, {1, 2, 2}, {1, 2, 3, 4}));
  BOOST_TEST(problem(f.path).find("train") == std::string::npos);  // lists only missing files
  f.write_plain("t10k-labels-idx1-ubyte", idx_file(0x801, {1}, {5}));
  auto const data = nn::read_idx_folder(f.path);
  BOOST_TEST(data.training.size() == 3U);
  BOOST_TEST(data.test.size() == 1U);
  BOOST_TEST(data.test.labels[0] == 5);
  f.write_plain("t10k-images-idx3-ubyte", idx_file(0x803, {1, 1, 4}, {1, 2, 3, 4}));
  expect_part(problem(f.path), "does not hold one data set");
}

BOOST_AUTO_TEST_CASE(the_published_files) {
  char const* const path = std::getenv("TUTTI_DATA");
  if (path == nullptr) {
    BOOST_TEST_MESSAGE("skipped: TUTTI_DATA does not name a folder with MNIST's files");
    return;
  }
  auto const data = nn::read_idx_folder(path);
  BOOST_TEST(data.training.size() == 60000U);
  BOOST_TEST(data.test.size() == 10000U);
  BOOST_TEST(data.training.features() == 784U);
}
