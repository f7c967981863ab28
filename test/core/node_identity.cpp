// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/detail/core/node_identity.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// The result of `f` in a child process.
template <class F>
std::string run_in_child(F f) {
  int ends[2];
  BOOST_REQUIRE(::pipe(ends) == 0);
  pid_t const child = ::fork();
  if (child == 0) {
    std::string const text = f();
    ::_exit(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char part[256];
  for (ssize_t bytes = 0; (bytes = ::read(ends[0], part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(bytes));
  }
  ::close(ends[0]);
  int status = 1;
  ::waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
  return text;
}

BOOST_AUTO_TEST_CASE(processes_that_share_memory_are_of_one_node) {
  BOOST_TEST(!tutti::detail::node_identity().empty());
  BOOST_TEST(run_in_child([] { return tutti::detail::node_identity(); }) == tutti::detail::node_identity());
}

BOOST_AUTO_TEST_CASE(each_process_is_itself) {
  BOOST_TEST(tutti::detail::process_identity() == tutti::detail::process_identity());
  BOOST_TEST(run_in_child([] { return tutti::detail::process_identity(); }) != tutti::detail::process_identity());
}

BOOST_AUTO_TEST_CASE(files_are_told_apart) {
  BOOST_TEST(tutti::detail::file_identity("/") != tutti::detail::file_identity("/proc"));
  BOOST_TEST(tutti::detail::file_identity("/no/such/file").empty());
}

}  // namespace
