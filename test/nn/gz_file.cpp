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

bytes some(std::size_t count) {
  bytes content(count);
  for (std::size_t i = 0; i != count; ++i) {
    content[i] = static_cast<std::uint8_t>(i * i / 7);
  }
  return content;
}

}  // namespace

BOOST_AUTO_TEST_CASE(bytes_come_as_they_are_up_to_the_end) {
  support::folder const here;
  bytes const content = some(1000);
  nn::detail::gz_file file(here.plain("plain", content));
  bytes found(3);
  BOOST_TEST(file.read(found) == 3U);
  BOOST_TEST(file.append(found, 500) == 500U);
  BOOST_TEST(file.append(found, std::size_t{1} << 40) == 497U);  // the file does not have that many bytes
  BOOST_TEST((found == content));
  BOOST_TEST(file.append(found, 1) == 0U);
}

BOOST_AUTO_TEST_CASE(a_small_file_that_unpacks_to_very_much_is_refused_in_time) {
  support::folder const here;
  auto const bomb = here.bomb("bomb", some(1000), 20);  // 0.3 MiB that unpack to 320 MiB
  nn::detail::gz_file file(bomb);
  bytes found;
  auto const said = complaint([&] { file.append(found, SIZE_MAX); });
  BOOST_TEST(said.find(bomb.string() + " unpacks to more than 268435456 bytes") == 0U, said);
  BOOST_TEST(found.size() <= (std::size_t{256} << 20) + (std::size_t{16} << 20));
  auto const fair = here.bomb("fair", some(1000), 2);
  nn::detail::gz_file small(fair);
  bytes all;
  BOOST_TEST(small.append(all, SIZE_MAX) == 1000U + (std::size_t{32} << 20));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_named) {
  support::folder const here;
  BOOST_TEST(complaint([&] { nn::detail::gz_file(here.path / "absent"); }).find("absent cannot be opened") !=
             std::string::npos);
  BOOST_TEST(complaint([&] { nn::detail::gz_file(here.path); }).find("is a folder") != std::string::npos);
}
