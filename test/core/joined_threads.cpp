// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <tutti/detail/core/joined_threads.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace {

using namespace tutti;
using namespace tutti::detail;

BOOST_AUTO_TEST_CASE(each_thread_has_its_number) {
  std::vector<std::size_t> numbers(8);
  auto const note = [&](std::size_t number) { numbers[number] = number + 1; };
  {
    joined_threads threads(numbers.size());
    for (std::size_t count = 0; count != numbers.size(); ++count) {
      BOOST_TEST(threads.size() == count);
      threads.start(note);
    }
  }
  BOOST_TEST(numbers == (std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

BOOST_AUTO_TEST_CASE(an_exception_waits_for_them) {
  std::atomic<int> end_count = 0;
  auto const end_late = [&](std::size_t) {
    sleep_for(std::chrono::milliseconds(5));
    ++end_count;
  };
  try {
    joined_threads threads(3);
    threads.start(end_late);
    threads.start(end_late);
    throw std::runtime_error("in their scope");
  } catch (std::runtime_error const&) {
    BOOST_TEST(end_count == 2);
  }
}

BOOST_AUTO_TEST_CASE(a_sleep_takes_at_least_its_time) {
  time_point const begin = steady_now();
  sleep_for(std::chrono::milliseconds(3));
  BOOST_TEST((steady_now() - begin >= std::chrono::milliseconds(3)));
  sleep_for(duration::zero());
}

}  // namespace
