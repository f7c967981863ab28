// SPDX-License-Identifier: Apache-2.0
// test: address
//
// A vector of blocks is cut into parts with as many blocks each. Every element is in exactly one part.
#include <tutti/cuda/detail/device/vector_parts.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using tutti::detail::device::vector_parts;

BOOST_AUTO_TEST_CASE(each_element_is_in_one_part_and_in_its_block) {
  for (std::uint32_t const blocks : {1U, 2U, 3U, 8U}) {
    for (std::size_t const max_elements : {8U, 9U, 24U, 100U}) {
      for (std::size_t count = 0; count != 120; ++count) {
        vector_parts const parts(count, blocks, max_elements);
        std::vector<int> visit_counts(count);
        unsigned wrong = 0;
        for (std::uint32_t p = 0; p != parts.number(); ++p) {
          std::size_t const size = parts.count(p);
          wrong += size > max_elements ? 1U : 0U;
          std::vector<int> part_visit_counts(size);
          std::size_t last = 0;
          parts.for_each_run(p, 0, count, [&](std::size_t at, std::size_t place, std::size_t n) {
            wrong += n == 0 || (last != 0 && last == at) ? 1U : 0U;  // runs have maximal length
            last = at + n;
            for (std::size_t i = 0; i != n; ++i) {
              ++visit_counts.at(at + i);
              ++part_visit_counts.at(place + i);
              std::uint32_t block = 0;
              while (tutti::block_begin(count, blocks, block + 1) <= at + i) {
                ++block;
              }
              bool const in_block = place + i >= tutti::block_begin(size, blocks, block) &&
                                    place + i < tutti::block_begin(size, blocks, block + 1);
              wrong += in_block ? 0U : 1U;
            }
          });
          wrong += part_visit_counts == std::vector<int>(size, 1) ? 0U : 1U;
        }
        wrong += visit_counts == std::vector<int>(count, 1) ? 0U : 1U;
        BOOST_TEST(wrong == 0U, count << " elements, " << blocks << " blocks, at most " << max_elements);
      }
    }
  }
}
BOOST_AUTO_TEST_CASE(a_range_of_it) {
  vector_parts const parts(100, 3, 12);
  std::vector<int> visit_counts(100);
  for (std::uint32_t p = 0; p != parts.number(); ++p) {
    parts.for_each_run(p, 30, 71, [&](std::size_t at, std::size_t, std::size_t n) {
      for (std::size_t i = 0; i != n; ++i) {
        ++visit_counts.at(at + i);
      }
    });
  }
  for (std::size_t i = 0; i != 100; ++i) {
    BOOST_TEST(visit_counts[i] == (i >= 30 && i < 71 ? 1 : 0));
  }
}
