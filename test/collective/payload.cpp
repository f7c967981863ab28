// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/engine/payload.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <vector>

// All bytes are copied and no others are written, whatever the parts.
BOOST_AUTO_TEST_CASE(copies_are_whole) {
  constexpr std::size_t kib = 1024;
  for (std::size_t const bytes :
       {std::size_t{0}, std::size_t{1}, 256 * kib - 1, 256 * kib, 256 * kib + 1, 512 * kib, 1024 * kib + 3}) {
    std::vector<std::byte> source(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      source[i] = static_cast<std::byte>(1 + i % 251);
    }
    std::vector<std::byte> destination(bytes + 1);
    tutti::detail::payload(tutti::detail::moving{1}, 1).copy(source.data(), destination.data(), bytes);
    BOOST_TEST(std::equal(source.begin(), source.end(), destination.begin()));
    BOOST_TEST((destination.back() == std::byte{}));
  }
}
