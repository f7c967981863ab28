// SPDX-License-Identifier: Apache-2.0
// test: address
#include <support/data_files.hpp>
#include <tutti/nn/data/idx.hpp>
#include <tutti/nn/data/npy.hpp>
#include <tutti/nn/detail/data/count_classes.hpp>
#include <tutti/nn/detail/data/file_names.hpp>
#include <tutti/nn/detail/data/npy_file.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace nn = tutti::nn;
namespace fs = std::filesystem;
using bytes = support::bytes;
using support::expect_part;
using support::folder;
using support::idx_file;

namespace {

bytes const three_images = idx_file(0x803, {3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255});
bytes const three_labels = idx_file(0x801, {3}, {7, 0, 9});

/// The message of the data_error thrown by reading.
template <class Read>
std::string complaint(Read&& read) {
  try {
    (void)read();
  } catch (nn::data_error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

/// The message of the data_error thrown by reading idx files, which must name the file.
std::string complaint(fs::path const& images, fs::path const& labels, fs::path const& culprit) {
  auto const text = complaint([&] { return nn::read_idx(images, labels); });
  BOOST_TEST(text.starts_with(culprit.string()), text);
  return text;
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
  auto const problem = [](fs::path const& path) { return complaint([&] { return nn::read_idx_folder(path); }); };
  for (auto const& path : {f.path, f.path / "none"}) {
    auto const text = problem(path);
    for (char const* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                             "t10k-labels-idx1-ubyte", "with .gz"}) {
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
  BOOST_TEST(data.training.classes == 10U);
  BOOST_TEST(data.test.classes == 10U);
  BOOST_TEST(data.training.class_names.empty());
  f.write_plain("t10k-images-idx3-ubyte", idx_file(0x803, {1, 1, 4}, {1, 2, 3, 4}));
  expect_part(problem(f.path), "does not hold one data set");
}

BOOST_AUTO_TEST_CASE(labels_that_begin_at_1) {
  folder const f;
  auto const problem = [&] { return complaint([&] { return nn::read_idx_folder(f.path); }); };
  f.write_compressed("emnist-letters-train-images-idx3-ubyte.gz", idx_file(0x803, {2, 2, 3},
                                                                           bytes{1, 2, 3, 4, 5, 6,  //
                                                                                 0, 0, 0, 0, 0, 9}));
  f.write_compressed("emnist-letters-train-labels-idx1-ubyte.gz", idx_file(0x801, {2}, {1, 3}));
  f.write_plain("emnist-letters-test-images-idx3-ubyte", idx_file(0x803, {1, 2, 3}, {6, 5, 4, 3, 2, 1}));
  expect_part(problem(), "but does not:\n  emnist-letters-test-labels-idx1-ubyte");
  f.write_plain("emnist-letters-test-labels-idx1-ubyte", idx_file(0x801, {1}, {26}));
  auto const data = nn::read_idx_folder(f.path);
  for (auto const* const set : {&data.training, &data.test}) {
    BOOST_TEST(set->classes == 26U);
    BOOST_TEST(set->class_names.size() == 26U);
    BOOST_TEST(set->class_names[25] == "26");
    BOOST_TEST((set->shape == nn::image_shape{1, 3, 2}));
  }
  BOOST_TEST((data.training.labels == bytes{0, 2}));
  BOOST_TEST((data.test.labels == bytes{25}));
  BOOST_TEST((data.training.pixels == bytes{1, 4, 2, 5, 3, 6, 0, 0, 0, 0, 0, 9}));  // turned upright
  f.write_plain("emnist-mnist-train-labels-idx1-ubyte", {});
  expect_part(problem(),
              "holds several data sets, those of emnist-letters-train-images-idx3-ubyte and of emnist-mnist-");
}

namespace {

/// A file of NumPy: the header's entries, and the elements.
bytes npy(std::string const& type, std::string const& shape, bytes const& elements, std::uint8_t version = 1,
          std::string const& fortran = "False") {
  std::string const header =
      "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': (" + shape + "), }        \n";
  bytes result{0x93, 'N', 'U', 'M', 'P', 'Y', version, 0, static_cast<std::uint8_t>(header.size()), 0};
  result.resize(version == 1 ? 10 : 12);
  result.insert(result.end(), header.begin(), header.end());
  result.insert(result.end(), elements.begin(), elements.end());
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(arrays_of_numpy) {
  folder const f;
  auto const labels = f.write_plain("l.npy", npy("|u1", "2,", {4, 0}));
  bytes const planes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24};
  bytes const interleaved_pixels{1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12, 13, 17, 21, 14, 18, 22, 15, 19, 23, 16, 20, 24};
  for (std::uint8_t const version : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    auto const read = [&](std::string const& shape, bytes const& elements) {
      return nn::read_npy(f.write_plain("i.npy", npy("|u1", shape, elements, version)), labels);
    };
    auto const grey = read("2, 3, 4", planes);
    BOOST_TEST((grey.shape == nn::image_shape{1, 3, 4}));
    BOOST_TEST((grey.pixels == planes));
    BOOST_TEST((grey.labels == bytes{4, 0}));
    BOOST_TEST(grey.classes == 5U);
    auto const channels_first = read("2, 3, 2, 2", planes);
    auto const channels_last = read("2L, 2L, 2L, 3L", interleaved_pixels);
    BOOST_TEST((channels_first.shape == nn::image_shape{3, 2, 2}));
    BOOST_TEST((channels_last.shape == channels_first.shape));
    BOOST_TEST((channels_first.pixels == planes));
    BOOST_TEST((channels_last.pixels == planes));
    BOOST_TEST((read("2, 3, 4, 1", planes).shape == nn::image_shape{1, 3, 4}));
    BOOST_TEST((read("2, 1, 3, 4", planes).shape == nn::image_shape{1, 3, 4}));
  }
  auto const images = f.write_plain("i.npy", npy("|u1", "2, 3, 4", planes));
  for (auto const& [type, elements] :
       {std::pair{"<i2", bytes{4, 0, 255, 0}}, std::pair{">u4", bytes{0, 0, 0, 4, 0, 0, 0, 255}},
        std::pair{"<i8", bytes{4, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0}}}) {
    BOOST_TEST((nn::read_npy(images, f.write_plain("l.npy", npy(type, "2, 1", elements))).labels == bytes{4, 255}));
  }
}

BOOST_AUTO_TEST_CASE(a_file_of_numpy_has_all_its_elements) {
  folder const f;
  auto const path = f.write_plain("a.npy", npy("|u1", "2, 3", {1, 2, 3, 4, 5, 6}));
  nn::detail::npy_file file(path);
  BOOST_TEST(file.type() == "|u1");
  BOOST_TEST(file.shape_text() == "(2, 3)");
  BOOST_TEST((file.read(6) == bytes{1, 2, 3, 4, 5, 6}));
  for (std::size_t const wrong : {5U, 7U}) {
    BOOST_TEST(
        complaint([&] { static_cast<void>(nn::detail::npy_file(path).read(wrong)); }).starts_with(path.string()));
  }
}

BOOST_AUTO_TEST_CASE(a_set_of_files_counts_once_in_two_forms) {
  folder const f;
  for (std::string const prefix : {"", "letters-"}) {
    for (std::size_t file = 0; file != 4; ++file) {
      f.write_plain(nn::detail::idx_file_name(prefix, file), three_labels);
      f.write_plain(nn::detail::idx_file_name(prefix, file) + ".gz", three_labels);
    }
  }
  auto const names = nn::detail::sorted_names(f.path);
  BOOST_TEST(names.size() == 16U);
  BOOST_TEST(std::ranges::is_sorted(names));
  BOOST_TEST(nn::detail::sorted_names(f.path / "missing").empty());
  BOOST_TEST(nn::detail::idx_sets(f.path).size() == 2U);
}

BOOST_AUTO_TEST_CASE(arrays_that_are_no_images_or_labels) {
  folder const f;
  bytes const elements(24);
  auto const refuse = [&](bytes const& images, bytes const& labels, std::string const& culprit,
                          std::string const& part) {
    auto const i = f.write_plain("i", images);
    auto const text = complaint([&] { return nn::read_npy(i, f.write_plain("l", labels)); });
    BOOST_TEST(text.starts_with((f.path / culprit).string()), text);
    expect_part(text, part);
  };
  auto const good_images = npy("|u1", "2, 3, 4", elements);
  auto const good_labels = npy("|u1", "2,", {4, 0});
  refuse(npy("<f4", "2, 3, 4", elements), good_labels, "i", "save images.astype('uint8')");
  refuse(npy("|u1", "2, 3, 4", elements, 1, "True"), good_labels, "i", "save numpy.ascontiguousarray(a)");
  refuse(npy("|u1", "2, 2, 2, 2", elements), good_labels, "i",
         "has the shape (2, 2, 2, 2): expected (N, rows, columns)");
  refuse(npy("|u1", "24,", elements), good_labels, "i", "has the shape (24,)");
  refuse(npy("|u1", "2, 0, 4", {}), good_labels, "i", "at least one image");
  refuse(npy("|u1", "100000000000000000, 4096, 4096", elements), good_labels, "i", "expected at least one image");
  refuse(npy("|u1", "99999999999999999999999, 3, 4", elements), good_labels, "i", "false header");
  refuse(npy("|u1", "100000000000, 3, 4", elements), good_labels, "i", "is truncated: expected 1200000000000 bytes");
  refuse(npy("|u1", "2, 3, 4", elements, 9), good_labels, "i", "is in version 9");
  refuse(good_images, npy("<f8", "2,", bytes(16)), "l", "save labels.astype('uint8')");
  refuse(good_images, npy("|u1", "2, 10", bytes(20)), "l", "save labels.argmax(axis=1)");
  refuse(good_images, npy("|u1", "3,", bytes(3)), "l", "expected 2 labels, one per image, found 3");
  refuse(good_images, npy("<u2", "2,", {1, 0, 44, 1}), "l", "expected labels from 0 to 255, found 300 for image 1");
  refuse(good_images, npy("|i1", "2,", {1, 255}), "l", "found a negative one for image 1");
  bytes longer = good_labels;
  longer.push_back(0);
  refuse(good_images, longer, "l", "continues after the last element");
  for (std::size_t length = 0; length != good_images.size(); ++length) {
    refuse(bytes(good_images.begin(), good_images.begin() + static_cast<long>(length)), good_labels, "i", "");
  }
  for (std::size_t at = 0; at != good_images.size(); ++at) {  // any result but a crash
    for (std::uint8_t const change : {std::uint8_t{1}, std::uint8_t{0x80}, std::uint8_t{0xff}}) {
      bytes damaged_file = good_images;
      damaged_file[at] ^= change;
      (void)complaint([&] { return nn::read_npy(f.write_plain("i", damaged_file), f.path / "l"); });
    }
  }
}

BOOST_AUTO_TEST_CASE(folders_of_arrays) {
  folder const f;
  auto const problem = [&] { return complaint([&] { return nn::read_npy_folder(f.path); }); };
  expect_part(problem(), "should hold these files, but does not:\n  train_images.npy\n  train_labels.npy");
  f.write_plain("train_images.npy", npy("|u1", "2, 1, 2", {1, 2, 3, 4}));
  f.write_plain("train_labels.npy", npy("<i8", "2,", {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}));
  auto const training_only = nn::read_npy_folder(f.path);
  BOOST_TEST(training_only.test.size() == 0U);
  BOOST_TEST((training_only.training.labels == bytes{0, 1}));
  BOOST_TEST((training_only.training.class_names == std::vector<std::string>{"1", "2"}));
  f.write_plain("test_images.npy", npy("|u1", "1, 2, 1", {1, 2}));
  expect_part(problem(), "but does not:\n  test_labels.npy");
  f.write_plain("test_labels.npy", npy("|u1", "1,", {0}));
  expect_part(problem(), "have different shapes");
  f.write_plain("test_images.npy", npy("|u1", "1, 1, 2", {1, 2}));
  BOOST_TEST(nn::read_npy_folder(f.path).training.classes == 3U);
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

BOOST_AUTO_TEST_CASE(classes_are_counted_over_both_sets) {
  tutti::nn::data_pair data;
  data.training.labels = {3, 1, 1};
  data.test.labels = {2, 4};
  tutti::nn::detail::count_classes(data);  // no label is 0
  BOOST_TEST((data.training.labels == std::vector<std::uint8_t>{2, 0, 0}));
  BOOST_TEST((data.test.labels == std::vector<std::uint8_t>{1, 3}));
  for (auto const* const set : {&data.training, &data.test}) {
    BOOST_TEST(set->classes == 4U);
    BOOST_TEST((set->class_names == std::vector<std::string>{"1", "2", "3", "4"}));
  }
  data.test.labels = {0, 6};
  data.training.class_names = data.test.class_names = {};
  tutti::nn::detail::count_classes(data);
  BOOST_TEST(data.training.classes == 7U);
  BOOST_TEST((data.test.labels == std::vector<std::uint8_t>{0, 6}));
}
