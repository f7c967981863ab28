// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/engine/regions.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_CASE(regions_are_one_apart_or_neither) {
  int memory[8] = {};
  for (std::size_t a = 0; a <= 8; ++a) {
    for (std::size_t b = a; b <= 8; ++b) {
      for (std::size_t c = 0; c <= 8; ++c) {
        for (std::size_t d = c; d <= 8; ++d) {
          std::span<int const> const first(memory + a, b - a);
          std::span<int> const second(memory + c, d - c);
          bool has_overlap = false;
          for (std::size_t i = 0; i < 8; ++i) {
            has_overlap = has_overlap || (a <= i && i < b && c <= i && i < d);
          }
          BOOST_TEST(tutti::detail::disjoint(first, second) == !has_overlap);
          BOOST_TEST(tutti::detail::same_or_apart(first, second) == (!has_overlap || (a == c && b == d)));
        }
      }
    }
  }
}
