// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/engine/slice.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

namespace {

using tutti::detail::slice;

/// Counts the blocks of these slices that hold each element of a vector.
std::vector<int> count_hits(std::size_t count, std::vector<slice> const& slices) {
  std::vector<int> hits(count);
  for (slice const& s : slices) {
    for (std::uint32_t b = 0; b < s.blocks(); ++b) {
      for (std::size_t i = 0; i < s.size(b); ++i) {
        ++hits.at(s.begin(b) + i);
      }
    }
  }
  return hits;
}

/// The begins of blocks that grow towards the last, and the end: those of the first half have no elements.
std::vector<std::size_t> uneven_begins(std::size_t count, std::uint32_t blocks) {
  std::vector<std::size_t> begins;
  for (std::uint32_t b = 0; b <= blocks; ++b) {
    begins.push_back(b <= blocks / 2 ? 0 : count * b * b / blocks / blocks);
  }
  return begins;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_blocks_of_all_segments_are_the_vector) {
  for (std::size_t const count : {0U, 1U, 5U, 64U, 97U}) {
    for (std::uint32_t const blocks : {1U, 2U, 3U, 8U}) {
      for (std::uint32_t const segments : {1U, 2U, 5U}) {
        std::vector<slice> vector_slices;
        std::vector<slice> block_slices;
        std::vector<slice> uneven_slices;
        std::vector<std::size_t> const begins = uneven_begins(count, blocks);
        for (std::uint32_t k = 0; k < segments; ++k) {
          vector_slices.push_back(
              slice::of_vector(tutti::block_begin(count, segments, k), tutti::block_size(count, segments, k), blocks));
          block_slices.push_back(slice::of_blocks(count, blocks, k, segments));
          uneven_slices.push_back(slice::of_blocks(count, blocks, k, segments, begins.data()));
        }
        BOOST_TEST((count_hits(count, uneven_slices) == std::vector<int>(count, 1)));
        BOOST_TEST((count_hits(count, vector_slices) == std::vector<int>(count, 1)));
        BOOST_TEST((count_hits(count, block_slices) == std::vector<int>(count, 1)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(runs_are_the_blocks_of_a_range_in_order_and_as_long_as_they_can_be) {
  for (std::uint32_t const blocks : {1U, 2U, 5U}) {
    std::vector<std::size_t> const begins = uneven_begins(23, blocks);
    for (auto const& s :
         {slice::of_vector(10, 23, blocks), slice::of_blocks(23, blocks, 1, 3),
          slice::of_blocks(23, blocks, 0, 1, begins.data()), slice::of_blocks(23, blocks, 1, 3, begins.data())}) {
      for (std::uint32_t first = 0; first < blocks; ++first) {
        for (std::uint32_t count = 1; count <= blocks; ++count) {
          std::size_t total = 0;
          for (std::uint32_t offset = 0; offset < count;) {
            auto const run = s.interval_at({first, count}, offset);
            BOOST_REQUIRE(run.blocks >= 1);
            BOOST_TEST(run.begin == s.begin((first + offset) % blocks));
            std::size_t elements = 0;
            for (std::uint32_t k = 0; k < run.blocks; ++k) {
              BOOST_TEST(s.begin((first + offset + k) % blocks) == run.begin + elements);
              elements += s.size((first + offset + k) % blocks);
            }
            BOOST_TEST(run.count == elements);
            total += elements;
            offset += run.blocks;
          }
          BOOST_TEST(s.elements_in({first, count}) == total);
        }
      }
    }
  }
}
