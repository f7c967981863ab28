// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/engine/memories.hpp>

#include <boost/test/unit_test.hpp>

#include <array>

namespace {

using tutti::memory;
using tutti::detail::memories;

constexpr std::array kinds{memory::input, memory::work, memory::output};

std::array<std::byte, 100> a{};
std::array<std::byte, 100> b{};
std::array<std::byte, 100> c{};

BOOST_AUTO_TEST_CASE(each_memory_is_read_where_it_is_written) {
  memories const m{.input = a.data(), .work = b.data(), .output = c.data()};
  BOOST_TEST(m.read(memory::input, 3, 8) == a.data() + 24);
  for (memory const s : {memory::work, memory::output}) {
    BOOST_TEST(m.write(s, 3, 8) == m.base(s) + 24);
    BOOST_TEST(m.write(s, 3, 8) == m.read(s, 3, 8));
  }
}

BOOST_AUTO_TEST_CASE(a_block_alone_lies_at_its_origin) {
  memories const m{.input = a.data(), .work = b.data(), .output = c.data(), .input_origin = 5, .output_origin = 7};
  BOOST_TEST(m.read(memory::input, 5, 4) == a.data());
  BOOST_TEST(m.read(memory::output, 9, 4) == c.data() + 8);
  BOOST_TEST(m.write(memory::output, 9, 4) == c.data() + 8);
  BOOST_TEST(m.write(memory::work, 9, 4) == b.data() + 36);  // work holds the whole vector
}

BOOST_AUTO_TEST_CASE(memories_are_the_same_where_their_bytes_are) {
  memories const three{.input = a.data(), .work = b.data(), .output = c.data()};
  memories const single{.input = a.data(), .work = a.data(), .output = a.data()};
  for (memory const x : kinds) {
    for (memory const y : kinds) {
      BOOST_TEST(three.are_same(x, y) == (x == y));
      BOOST_TEST(single.are_same(x, y));
    }
  }
}

}  // namespace
