// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/extend/extent.hpp>
#include <tutti/extend/types.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using tutti::detail::integer_cast;
static_assert(integer_cast<int>(7) == 7 && integer_cast<unsigned char>(300) == 44);
static_assert(std::is_same_v<decltype(integer_cast<std::size_t>(1U)), std::size_t>);
static_assert(integer_cast<std::int64_t>(std::int8_t{-1}) == -1);

BOOST_AUTO_TEST_CASE(blocks_cover_the_vector_and_differ_by_at_most_one) {
  for (std::size_t blocks = 1; blocks <= 19; ++blocks) {
    for (std::size_t count = 0; count <= 67; ++count) {
      bool is_right = tutti::block_begin(count, blocks, 0) == 0 && tutti::block_begin(count, blocks, blocks) == count;
      for (std::size_t b = 0; b < blocks; ++b) {
        std::size_t const size = tutti::block_size(count, blocks, b);
        is_right = is_right && tutti::block_begin(count, blocks, b) + size == tutti::block_begin(count, blocks, b + 1);
        is_right = is_right && (size == count / blocks || size == count / blocks + 1);
        is_right = is_right && (b == 0 || size <= tutti::block_size(count, blocks, b - 1));
      }
      BOOST_TEST(is_right, count << " elements in " << blocks << " blocks");
    }
  }
  std::size_t const huge = SIZE_MAX / 64;  // no product overflows
  BOOST_TEST(tutti::block_begin(huge, 17, 17) == huge);
}

std::vector<bool> members(tutti::block_range r, std::uint32_t blocks) {
  std::vector<bool> is_member(blocks);
  for (std::uint32_t i = 0; i < r.count; ++i) {
    is_member[(r.first + i) % blocks] = true;
  }
  return is_member;
}

BOOST_AUTO_TEST_CASE(cyclic_ranges_overlap_if_they_share_a_block) {
  for (std::uint32_t n = 1; n <= 6; ++n) {
    unsigned wrong_count = 0;
    for (std::uint32_t i = 0; i < n * n * (n + 1) * (n + 1); ++i) {
      tutti::block_range const x{i % n, i / n % (n + 1)};
      tutti::block_range const y{i / (n * (n + 1)) % n, i / (n * n * (n + 1))};
      auto const a = members(x, n);
      auto const b = members(y, n);
      bool is_shared = false;
      for (std::size_t k = 0; k < n; ++k) {
        is_shared = is_shared || (a[k] && b[k]);
      }
      wrong_count += x.overlaps(y, n) == is_shared ? 0U : 1U;
    }
    BOOST_TEST(wrong_count == 0U, wrong_count << " wrong answers with " << n << " blocks");
  }
}

// A static extent is a constant that takes no room; a dynamic one is a number.
static_assert(std::is_empty_v<tutti::extent<4>>);
static_assert(tutti::extent<4>{} == 4 && tutti::extent<4>{4} == 4);
static_assert(sizeof(tutti::extent<>) == sizeof(tutti::rank_type));
static_assert(tutti::extent<>{7} == 7);
static_assert(!std::is_default_constructible_v<tutti::extent<>>);
static_assert(std::is_same_v<tutti::extent<>, tutti::extent<tutti::dynamic>>);

struct holder {
  [[no_unique_address]] tutti::extent<4> n;
  tutti::rank_type rank;
};
static_assert(sizeof(holder) == sizeof(tutti::rank_type));

}  // namespace
