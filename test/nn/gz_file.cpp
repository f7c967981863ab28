// SPDX-License-Identifier: Apache-2.0
// test: address
#include <support/data_files.hpp>
#include <tutti/nn/detail/data/gz_file.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

namespace nn = tutti::nn;
using support::bytes;

namespace {

template <class F>
std::string complaint(F f) {
  try {
    f();
  } catch (nn::data_error const& e) {
    return e.what();
  }
  return "";
}

bytes some_bytes(std::size_t count) {
  bytes content(count);
  for (std::size_t i = 0; i != count; ++i) {
    content[i] = static_cast<std::uint8_t>(i * i / 7);
  }
  return content;
}

}  // namespace

BOOST_AUTO_TEST_CASE(bytes_come_as_they_are_up_to_the_end) {
  support::folder const scratch_folder;
  bytes const content = some_bytes(1000);
  nn::detail::gz_file file(scratch_folder.write_plain("plain", content));
  bytes contents(3);
  BOOST_TEST(file.read(contents) == 3U);
  BOOST_TEST(file.append(contents, 500) == 500U);
  BOOST_TEST(file.append(contents, std::size_t{1} << 40) == 497U);  // the file does not have that many bytes
  BOOST_TEST((contents == content));
  BOOST_TEST(file.append(contents, 1) == 0U);
}

BOOST_AUTO_TEST_CASE(a_small_file_that_unpacks_to_very_much_is_refused_in_time) {
  support::folder const scratch_folder;
  auto const bomb = scratch_folder.write_bomb("bomb", some_bytes(1000), 20);  // 0.3 MiB that unpack to 320 MiB
  nn::detail::gz_file file(bomb);
  bytes contents;
  auto const text = complaint([&] { file.append(contents, SIZE_MAX); });
  BOOST_TEST(text.find(bomb.string() + " unpacks to more than 268435456 bytes") == 0U, text);
  BOOST_TEST(contents.size() <= (std::size_t{256} << 20) + (std::size_t{16} << 20));
  auto const fair = scratch_folder.write_bomb("fair", some_bytes(1000), 2);
  nn::detail::gz_file small(fair);
  bytes fair_contents;
  BOOST_TEST(small.append(fair_contents, SIZE_MAX) == 1000U + (std::size_t{32} << 20));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_named) {
  support::folder const scratch_folder;
  BOOST_TEST(complaint([&] { nn::detail::gz_file(scratch_folder.path / "absent"); }).find("absent cannot be opened") !=
             std::string::npos);
  BOOST_TEST(complaint([&] { nn::detail::gz_file(scratch_folder.path); }).find("is a folder") != std::string::npos);
}
