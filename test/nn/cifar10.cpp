// SPDX-License-Identifier: Apache-2.0
// test: address
#include <support/data_files.hpp>
#include <tutti/nn/data/cifar10.hpp>
#include <tutti/nn/data/cifar100.hpp>
#include <tutti/nn/data/read_folder.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace nn = tutti::nn;
namespace fs = std::filesystem;
using support::bytes;
using support::expect_part;
using support::folder;

namespace {

/// An arbitrary value for pixel p of an image with this label.
std::uint8_t pixel(std::uint8_t label, std::size_t p) {
  return static_cast<std::uint8_t>(7 * p + p / 1024 + label);
}

/// A file with one word a line, and an empty line at the end.
bytes text_file(std::string const& words) {
  bytes result(words.begin(), words.end());
  std::ranges::replace(result, ' ', '\n');
  result.insert(result.end(), 2, '\n');
  return result;
}

bytes batch(bytes const& labels) {
  bytes result;
  for (auto const label : labels) {
    result.push_back(label);
    for (std::size_t p = 0; p != 3072; ++p) {
      result.push_back(pixel(label, p));
    }
  }
  return result;
}

template <class Read>
std::string complaint(Read&& read) {
  try {
    (void)read();
  } catch (nn::data_error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

/// The complaint about a file, which must name it.
std::string complaint_about(fs::path const& file) {
  auto const text = complaint([&] { return nn::read_cifar10(std::span(&file, 1)); });
  BOOST_TEST(text.starts_with(file.string()), text);
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(plain_and_packed_files_one_after_the_other) {
  folder const f;
  std::vector<fs::path> const files{f.write_plain("a.bin", batch({3, 0, 9})),
                                    f.write_compressed("b.bin.gz", batch({1}))};
  auto const data = nn::read_cifar10(files);
  BOOST_TEST((data.shape == nn::image_shape{3, 32, 32}));
  BOOST_TEST(data.classes == 10U);
  BOOST_TEST((data.labels == bytes{3, 0, 9, 1}));
  BOOST_REQUIRE(data.pixels.size() == 4 * 3072U);
  for (std::size_t i = 0; i != data.size(); ++i) {
    for (std::size_t p = 0; p != 3072; ++p) {
      BOOST_REQUIRE(data.image(i)[p] == pixel(data.labels[i], p));
    }
  }
}

BOOST_AUTO_TEST_CASE(missing_files) {
  folder const f;
  expect_part(complaint_about(f.path / "none.bin"), "cannot be opened: No such file");
  expect_part(complaint_about(f.path), "is a folder, not a file");
  expect_part(complaint([] { return nn::read_cifar10({}); }), "1 file or more");
}

BOOST_AUTO_TEST_CASE(truncations_are_found) {
  folder const f;
  auto const whole = batch({3, 5});
  for (std::size_t const length : {0U, 1U, 2U, 3072U, 3074U, 6145U}) {
    auto const short_file = f.write_plain("cut.bin", bytes(whole.begin(), whole.begin() + static_cast<long>(length)));
    auto const text = complaint_about(short_file);
    expect_part(text, "truncated: expected whole images of 3073 bytes");
    expect_part(text, "found " + std::to_string(length / 3073) + " and " + std::to_string(length % 3073) + " bytes");
  }
  // a compressed file that ends too early, after a whole image
  auto const compressed_file = f.write_compressed("p.bin.gz", whole);
  std::ifstream stream(compressed_file, std::ios::binary);
  bytes const contents{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  expect_part(complaint_about(f.write_plain("cut.bin.gz", bytes(contents.begin(), contents.end() - 9))),
              "is truncated");
}

BOOST_AUTO_TEST_CASE(foreign_files_are_called_what_they_are) {
  folder const f;
  auto const expect_complaint = [&](bytes const& content, std::string const& part) {
    expect_part(complaint_about(f.write_plain("foreign.bin", content)), "is not a file of CIFAR-10 but " + part);
  };
  expect_complaint(support::idx_file(0x803, {1, 2, 2}, {1, 2, 3, 4}), "an idx file");
  expect_complaint(support::idx_file(0x801, {3}, {1, 2, 3}), "an idx file");
  bytes tar(1024);
  std::ranges::copy(std::string("ustar"), tar.begin() + 257);
  expect_complaint(tar, "a tar archive");
  bytes tar_in_middle(3073 * 2);  // a valid length
  std::ranges::copy(std::string("ustar"), tar_in_middle.begin() + 257);
  tar_in_middle[3073] = 'x';
  expect_complaint(tar_in_middle, "a tar archive");
  expect_complaint({0x80, 0x02, '}', 'q'}, "a file of CIFAR's version for Python");
  expect_complaint({'P', 'K', 3, 4, 0}, "a zip archive");
  expect_complaint({0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, "a PNG picture");
  expect_complaint(bytes(2 * 3074), "a file of CIFAR-100");
  auto const once = f.write_compressed("once.gz", batch({1}));
  std::ifstream stream(once, std::ios::binary);
  auto const twice =
      f.write_compressed("twice.bin.gz", {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()});
  expect_part(complaint_about(twice), "compressed twice");
}

BOOST_AUTO_TEST_CASE(labels_beyond_the_classes) {
  folder const f;
  expect_part(complaint_about(f.write_plain("l.bin", batch({9, 10, 2}))),
              "is mislabelled: expected labels from 0 to 9, found 10 for image 1");
}

BOOST_AUTO_TEST_CASE(folders_of_cifar10) {
  folder const f;
  auto const problem = [&] { return complaint([&] { return nn::read_folder(f.path); }); };
  auto const text = problem();
  expect_part(text, "train-images-idx3-ubyte");
  expect_part(text, "data_batch*.bin");
  expect_part(text, "train_images.npy");
  expect_part(text, "in a subfolder for each class");
  expect_part(complaint([&] { return nn::read_folder(f.path / "none"); }), "is not a folder");
  expect_part(complaint([&] { return nn::read_cifar10_folder(f.path / "none"); }), "is not a folder");

  f.write_plain("data_batch_2.bin", batch({2}));
  expect_part(problem(), "test_batch.bin");
  BOOST_TEST(problem().find("data_batch_1") == std::string::npos);  // lists only missing files
  f.write_compressed("data_batch_1.bin.gz", batch({1, 1}));
  f.write_compressed("data_batch_2.bin.gz", batch({7, 7, 7}));  // also batch 2, compressed: the plain file is read
  f.write_plain("data_batch_3", batch({3}));                    // no .bin: not a batch
  f.write_plain("test_batch_first.bin", batch({8}));
  BOOST_TEST(nn::read_folder(f.path).training.class_names.empty());
  f.write_plain("batches.meta.txt", text_file("a b c d e f g h i ship"));
  auto const data = nn::read_folder(f.path);
  BOOST_TEST(data.test.class_names.at(9) == "ship");
  BOOST_TEST((data.training.labels == bytes{1, 1, 2}));
  BOOST_TEST((data.test.labels == bytes{8}));

  f.write_plain("t10k-labels-idx1-ubyte", {});
  expect_part(problem(), "both idx files and files of CIFAR-10");
}

BOOST_AUTO_TEST_CASE(folders_of_cifar100) {
  folder const f;
  auto const records = [](bytes const& fine_labels) {
    bytes result;
    for (auto const label : fine_labels) {
      bytes const record = batch({label});
      result.push_back(19);  // the coarse label
      result.insert(result.end(), record.begin(), record.end());
    }
    return result;
  };
  auto const problem = [&] { return complaint([&] { return nn::read_folder(f.path); }); };
  f.write_compressed("train.bin.gz", records({99, 0}));
  expect_part(problem(), "test.bin or test.bin.gz");
  f.write_plain("test.bin", records({100}));
  expect_part(problem(), "test.bin is mislabelled: expected labels from 0 to 99, found 100 for image 0");
  f.write_plain("test.bin", batch({3}));
  expect_part(problem(), "is not a file of CIFAR-100 but a file of CIFAR-10");
  auto const whole = records({5, 6});
  f.write_plain("test.bin", bytes(whole.begin(), whole.end() - 1));
  expect_part(problem(), "is truncated: expected whole images of 3074 bytes, found 1 and 3073 bytes more");
  f.write_plain("test.bin", whole);
  f.write_plain("fine_label_names.txt", text_file("apple bear"));
  expect_part(problem(),
              "fine_label_names.txt should have the names of the classes, one a line: expected 100, found 2");
  std::string names = "apple";
  for (int i = 1; i != 100; ++i) {
    names += " name" + std::to_string(i);
  }
  f.write_plain("fine_label_names.txt", text_file(names));
  auto const data = nn::read_folder(f.path);
  BOOST_TEST(data.training.classes == 100U);
  BOOST_TEST((data.training.labels == bytes{99, 0}));
  BOOST_TEST((data.test.labels == bytes{5, 6}));
  BOOST_TEST(data.test.image(1)[77] == pixel(6, 77));
  BOOST_TEST(data.training.class_names[99] == "name99");
}

BOOST_AUTO_TEST_CASE(folders_of_idx_files) {
  folder const f;
  auto const images = support::idx_file(0x803, {1, 2, 2}, {1, 2, 3, 4});
  auto const labels = support::idx_file(0x801, {1}, {5});
  f.write_plain("train-images-idx3-ubyte", images);
  auto const text = complaint([&] { return nn::read_folder(f.path); });
  expect_part(text, "t10k-images-idx3-ubyte");
  BOOST_TEST(text.find("data_batch") == std::string::npos);  // only idx files are missing
  f.write_plain("train-labels-idx1-ubyte", labels);
  f.write_plain("t10k-images-idx3-ubyte", images);
  f.write_plain("t10k-labels-idx1-ubyte", labels);
  BOOST_TEST((nn::read_folder(f.path).test.shape == nn::image_shape{1, 2, 2}));
}

BOOST_AUTO_TEST_CASE(the_published_files) {
  char const* const path = std::getenv("TUTTI_CIFAR10");
  if (path == nullptr) {
    BOOST_TEST_MESSAGE("skipped: TUTTI_CIFAR10 does not name a folder with CIFAR-10's binary files");
    return;
  }
  auto const data = nn::read_folder(path);
  BOOST_TEST(data.training.size() % 10000 == 0U);
  BOOST_TEST(data.training.labels[0] == 6);  // a frog
  BOOST_TEST(data.training.image(0)[0] == 59);
  BOOST_TEST(data.test.labels[0] == 3);  // a cat
}
