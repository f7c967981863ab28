// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/detail/core/untouched_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

struct alignas(64) block {
  std::array<unsigned char, 1024> bytes{};
};
using blocks = std::vector<block, tutti::detail::untouched_memory<block>>;

std::ptrdiff_t resident_pages(blocks& memory) {
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> residency(memory.size() * sizeof(block) / page);
  BOOST_TEST_REQUIRE(::mincore(memory.data(), memory.size() * sizeof(block), residency.data()) == 0);
  return std::ranges::count_if(residency, [](unsigned char c) { return (c & 1) != 0; });
}

}  // namespace

BOOST_AUTO_TEST_CASE(takes_memory_when_it_is_written) {
  blocks memory(64 << 10);
  BOOST_TEST(resident_pages(memory) == 0);
  memory[40'000].bytes[7] = 1;
  auto const pages = resident_pages(memory);
  BOOST_TEST((pages > 0 && pages < 64 * 256));  // the system may give a huge page
  BOOST_TEST(memory[40'000].bytes[8] == 0);
  BOOST_TEST(memory[60'000].bytes[7] == 0);
}

BOOST_AUTO_TEST_CASE(copies_are_equal_and_what_is_too_large_is_refused) {
  blocks memory(100);
  memory[3].bytes[3] = 3;
  blocks const copy = memory;
  BOOST_TEST(copy[3].bytes[3] == 3);
  BOOST_TEST(copy[4].bytes[3] == 0);
  memory.resize(200);
  BOOST_TEST(memory[3].bytes[3] == 3);
  BOOST_TEST(memory[199].bytes[3] == 0);
  BOOST_CHECK_THROW((void)tutti::detail::untouched_memory<block>().allocate(std::size_t{1} << 44), std::bad_alloc);
}
