// SPDX-License-Identifier: Apache-2.0
//
// Checks that hold: in the main thread, and outside of it, where the main program of tests forbids them.
#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <thread>
#include <unistd.h>

BOOST_AUTO_TEST_CASE(main_thread) {
  BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(thread) {
  std::thread([] { BOOST_TEST(true); }).join();
}

BOOST_AUTO_TEST_CASE(child) {
  if (::pid_t const process = ::fork(); process == 0) {
    BOOST_TEST(true);
    ::_exit(0);
  } else {
    int status = 0;
    BOOST_REQUIRE(::waitpid(process, &status, 0) == process);
  }
}
