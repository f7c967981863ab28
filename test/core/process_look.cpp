// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/detail/core/process_look.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;
using tutti::detail::activity;
using tutti::detail::thread_status;

namespace {

/// A process that waits for a signal until it is killed.
struct waiting_process {
  waiting_process() {
    pid = ::fork();
    if (pid == 0) {
      for (;;) {
        ::pause();
      }
    }
    BOOST_REQUIRE(pid > 0);
  }
  waiting_process(waiting_process const&) = delete;
  waiting_process& operator=(waiting_process const&) = delete;
  ~waiting_process() { end(); }
  void end() {
    if (pid > 0) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
      pid = 0;
    }
  }

  [[nodiscard]] std::uint32_t number() const { return static_cast<std::uint32_t>(pid); }

  pid_t pid = 0;
};

/// The activity of the main thread of a process, once it is `expected`, or after ten seconds.
activity activity_in_time(std::uint32_t pid, activity expected) {
  activity result{};
  for (auto const end = tutti::steady_now() + 10s; result != expected && tutti::steady_now() < end;) {
    auto const status = tutti::detail::status_of(pid, pid);
    result = tutti::detail::activity_of(status, status, 20ms);
  }
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_activity_follows_from_state_function_and_time) {
  struct row {
    char state;
    std::string_view channel;
    tutti::duration run_time;
    activity expected;
  };
  for (row const& r : {row{'R', "", 0ns, activity::computes},
                       {'S', "futex_wait_queue", 0ns, activity::on_lock},
                       {'S', "futex_wait_queue", 10ms, activity::computes},
                       {'S', "do_sys_poll", 0ns, activity::sleeps},
                       {'S', "do_sys_poll", 4ms, activity::sleeps},
                       {'S', "folio_wait_bit_common", 0ns, activity::on_disk},
                       {'S', "rpc_wait_bit_killable", 0ns, activity::on_disk},
                       {'S', "0", 0ns, activity::sleeps},
                       {'D', "io_schedule", 0ns, activity::on_disk},
                       {'T', "", 0ns, activity::stopped},
                       {'t', "", 0ns, activity::traced},
                       {'Z', "", 0ns, activity::absent},
                       {'X', "", 0ns, activity::absent}}) {
    thread_status const first{r.state, std::string(r.channel), 5};
    thread_status second = first;
    second.run_time_ns += static_cast<std::uint64_t>(r.run_time.count());
    bool const is_expected = tutti::detail::activity_of(first, second, 20ms) == r.expected;
    BOOST_TEST(is_expected, r.state << " in '" << r.channel << "'");
  }
}

BOOST_AUTO_TEST_CASE(a_process_sleeps_is_stopped_continues_and_ends) {
  waiting_process other;
  std::uint32_t const pid = other.number();
  BOOST_TEST((activity_in_time(pid, activity::sleeps) == activity::sleeps));
  ::kill(other.pid, SIGSTOP);
  BOOST_TEST((activity_in_time(pid, activity::stopped) == activity::stopped));
  ::kill(other.pid, SIGCONT);
  BOOST_TEST((activity_in_time(pid, activity::sleeps) == activity::sleeps));
  ::kill(other.pid, SIGKILL);
  BOOST_TEST((activity_in_time(pid, activity::absent) == activity::absent));  // its parent has not waited for it
  other.end();
  BOOST_TEST((activity_in_time(pid, activity::absent) == activity::absent));
}

BOOST_AUTO_TEST_CASE(a_thread_that_has_ended_is_its_process) {
  waiting_process const other;
  std::uint32_t const no_thread = 1;
  BOOST_TEST((activity_in_time(other.number(), activity::sleeps) == activity::sleeps));
  BOOST_TEST(tutti::detail::status_of(other.number(), no_thread).state ==
             tutti::detail::status_of(other.number(), other.number()).state);
}

BOOST_AUTO_TEST_CASE(names_that_are_numbers_are_listed_and_no_others) {
  char name[] = "/tmp/tutti-test-XXXXXX";
  BOOST_REQUIRE(::mkdtemp(name) != nullptr);
  std::string const folder = name;
  for (char const* const entry : {"/17", "/4294967295", "/4294967296", "/17a", "/-1", "/task"}) {
    std::filesystem::create_directory(folder + entry);
  }
  auto numbers = tutti::detail::numbers_in(folder);
  std::sort(numbers.begin(), numbers.end());
  BOOST_TEST(numbers == (std::vector<std::uint32_t>{17, 4294967295U}), boost::test_tools::per_element());
  std::filesystem::remove_all(folder);
  BOOST_TEST(tutti::detail::numbers_in(folder).empty());
}

BOOST_AUTO_TEST_CASE(a_process_without_a_page_has_none) {
  waiting_process other;
  BOOST_TEST(!tutti::detail::mapped_page(other.number()));
  std::uint32_t const pid = other.number();
  other.end();
  BOOST_TEST(!tutti::detail::mapped_page(pid));
}
