// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/extend/expects.hpp>
#include <tutti/partition.hpp>

#include <boost/test/unit_test.hpp>

#include <set>
#include <vector>

namespace {

using tutti::partition;

BOOST_AUTO_TEST_CASE(blocks_are_one_behind_the_other) {
  std::vector<std::size_t> const block_lengths{5, 0, 12, 1, 0};
  partition const blocks(block_lengths);
  BOOST_TEST(blocks.size() == block_lengths.size());
  BOOST_TEST(blocks.count() == 18);
  BOOST_TEST(blocks.longest() == 12);
  BOOST_TEST(blocks.begin(0) == 0);
  for (tutti::rank_type r = 0; r < blocks.size(); ++r) {
    BOOST_TEST(blocks.length(r) == block_lengths[r]);
    BOOST_TEST(blocks.begins()[r + 1] == blocks.begin(r) + blocks.length(r));
  }
}

BOOST_AUTO_TEST_CASE(the_equal_cut_has_no_identity) {
  for (std::size_t n = 0; n < 9; ++n) {
    for (std::size_t count = 0; count < 20; ++count) {
      std::vector<std::size_t> block_lengths(n);
      for (std::size_t r = 0; r < n; ++r) {
        block_lengths[r] = tutti::block_size(count, n, r);
      }
      BOOST_TEST(partition(block_lengths).is_equal_cut());
      BOOST_TEST(partition(block_lengths).identity() == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(different_lengths_have_different_identities) {
  std::set<std::uint32_t> identities;
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = 0; b < 8; ++b) {
      for (std::size_t c = 0; c < 8; ++c) {
        partition const blocks{a, b, c};
        BOOST_TEST((blocks == partition{a, b, c}));
        BOOST_TEST((blocks.is_equal_cut() || identities.insert(blocks.identity()).second));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_sum_that_no_size_holds_is_refused) {
  BOOST_CHECK_THROW(partition({SIZE_MAX, 1}), tutti::precondition_error);
}

}  // namespace
