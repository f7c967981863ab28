// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE transport_datagram_doorbells
#include <tutti/transport/datagram_doorbells.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace tutti;

/// Want of descriptors is called what it is.
BOOST_AUTO_TEST_CASE(too_few_descriptors_are_no_other_network_namespace) {
  std::vector<std::string> const names{"tutti test " + std::to_string(::getpid())};
  datagram_doorbells bells;
  bells.open(names[0]);
  rlimit usual{};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  descriptor const next(::dup(0));
  rlimit few = usual;
  few.rlim_cur = static_cast<rlim_t>(next.get()) + 1;
  ::setrlimit(RLIMIT_NOFILE, &few);
  std::string what;
  try {
    bells.connect(names);
  } catch (error const& e) {
    what = e.what();
  }
  ::setrlimit(RLIMIT_NOFILE, &usual);
  BOOST_TEST(what.find("Too many open files") != what.npos, what);
  BOOST_TEST(what.find("namespace") == what.npos, what);
}

}  // namespace
