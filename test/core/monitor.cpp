// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <tutti/detail/core/monitor.hpp>

#include <boost/test/unit_test.hpp>

#include <thread>
#include <vector>

namespace {

using namespace tutti;
using namespace tutti::detail;

BOOST_AUTO_TEST_CASE(one_thread_at_a_time_holds_it) {
  monitor m;
  int sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t != 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i != 1000; ++i) {
        monitor_lock const lock(m);
        ++sum;
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  BOOST_TEST(sum == 4000);
}

BOOST_AUTO_TEST_CASE(a_thread_that_waits_hears_of_changes) {
  monitor m;
  int turn = 0;
  auto const play = [&](int me) {
    for (int round = 0; round != 100; ++round) {
      monitor_lock const lock(m);
      while (turn % 2 != me) {
        m.wait_until(steady_now() + std::chrono::seconds(30));
      }
      ++turn;
      m.notify_all();
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  BOOST_TEST(turn == 200);
}

BOOST_AUTO_TEST_CASE(a_wait_ends_at_its_deadline) {
  monitor m;
  monitor_lock const lock(m);
  time_point const deadline = steady_now() + std::chrono::milliseconds(2);
  while (steady_now() < deadline) {
    m.wait_until(deadline);
  }
  BOOST_TEST((steady_now() >= deadline));
}

}  // namespace
