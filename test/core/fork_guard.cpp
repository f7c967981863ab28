// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/detail/core/fork_guard.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using tutti::detail::fork_guard;

namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) != -1;
}

/// True if `question` holds in a forked child.
template <class Question>
bool child_says(Question question) {
  pid_t const child = ::fork();
  if (child == 0) {
    ::_exit(question() ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

struct two_descriptors {
  two_descriptors() { BOOST_REQUIRE(::pipe(ends) == 0); }
  two_descriptors(two_descriptors const&) = delete;
  two_descriptors& operator=(two_descriptors const&) = delete;
  ~two_descriptors() {
    fork_guard::remove(ends[0]);
    fork_guard::remove(ends[1]);
    ::close(ends[0]);
    ::close(ends[1]);
  }

  int ends[2] = {-1, -1};
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_child_does_not_inherit_what_is_refused) {
  two_descriptors const d;
  fork_guard::add(d.ends[0]);
  BOOST_TEST(child_says([&] { return !is_open(d.ends[0]) && is_open(d.ends[1]); }));
  BOOST_TEST(is_open(d.ends[0]));
  BOOST_TEST(child_says([&] { return !is_open(d.ends[0]); }), "a second child does not, either");
  fork_guard::remove(d.ends[0]);
  BOOST_TEST(child_says([&] { return is_open(d.ends[0]); }));
}

/// A child owns what it opens under the number of a closed descriptor.
BOOST_AUTO_TEST_CASE(a_grandchild_inherits_what_its_parent_has_opened) {
  two_descriptors const d;
  fork_guard::add(d.ends[0]);
  BOOST_TEST(child_says(
      [&] { return ::dup2(d.ends[1], d.ends[0]) == d.ends[0] && child_says([&] { return is_open(d.ends[0]); }); }));
}

BOOST_AUTO_TEST_CASE(generations_are_counted_in_the_child_alone) {
  std::uint32_t const generation = fork_guard::generation();
  BOOST_TEST(child_says([&] { return fork_guard::generation() == generation + 1; }));
  BOOST_TEST(child_says([&] { return child_says([&] { return fork_guard::generation() == generation + 2; }); }));
  BOOST_TEST(fork_guard::generation() == generation);
}

BOOST_AUTO_TEST_CASE(a_number_without_a_place_is_let_be) {
  two_descriptors const d;
  for (int const fd : {-1, d.ends[0] + (1 << 16), d.ends[0] + (1 << 30)}) {
    fork_guard::add(fd);
    BOOST_TEST(child_says([&] { return is_open(d.ends[0]); }));
    fork_guard::remove(fd);
  }
}
