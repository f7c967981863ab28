// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/detail/core/world_local.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace {

std::atomic<int> living_count{0};

struct counted_value {
  counted_value() { ++living_count; }
  counted_value(counted_value const&) = delete;
  counted_value& operator=(counted_value const&) = delete;
  ~counted_value() { --living_count; }
  std::atomic<int> value{0};
};

BOOST_AUTO_TEST_CASE(copies_share_one_value_that_ends_with_the_last) {
  tutti::detail::world_local last;
  {
    tutti::detail::world_local first;
    first.begin_world();
    tutti::detail::world_local const second = first;
    second.common<counted_value>().value = 7;
    first.begin_world();  // already belongs to that world
    BOOST_TEST(first.common<counted_value>().value == 7);
    last = second;
    tutti::detail::world_local other;
    other.begin_world();
    BOOST_TEST(other.common<counted_value>().value == 0);
    BOOST_TEST(living_count == 2);
  }
  BOOST_TEST(living_count == 1);
  BOOST_TEST(last.common<counted_value>().value == 7);
  last = {};
  BOOST_TEST(living_count == 0);
}

BOOST_AUTO_TEST_CASE(threads_that_ask_at_a_time_get_the_same) {
  for (int round = 0; round < 200; ++round) {
    tutti::detail::world_local world;
    world.begin_world();
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([kin = world] { ++kin.common<counted_value>().value; });
    }
    for (std::thread& t : threads) {
      t.join();
    }
    BOOST_TEST(world.common<counted_value>().value == 3);
    BOOST_TEST(living_count == 1);
  }
  BOOST_TEST(living_count == 0);
}

}  // namespace
