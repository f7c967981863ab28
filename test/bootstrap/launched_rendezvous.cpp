// SPDX-License-Identifier: Apache-2.0
// test: address (ranks are processes)
#include <tutti/detail/bootstrap/launched_rendezvous.hpp>
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/detail/net/socket.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <string>

using tutti::environment;
using tutti::rank_type;
using tutti::detail::launched_rendezvous;

namespace {

/// The result of each of n processes that meet twice as `base` says: all texts, and the address of the rank's host.
std::vector<tutti::outcome<std::string>> meet(rank_type n, environment const& base) {
  return tutti::detail::run_processes(n, [&](tutti::detail::process_rendezvous& seat) {
    environment e = base;
    e.rank = seat.rank();
    e.size = n;
    e.patience = std::chrono::seconds(20);
    launched_rendezvous r(e);
    std::string result;
    for (int round = 0; round < 2; ++round) {
      for (auto const& text : r.exchange(std::to_string(r.rank()) + " of " + std::to_string(r.size()))) {
        result += text + ", ";
      }
    }
    return result + r.local_host();
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(processes_meet_at_a_port) {
  environment e;
  {
    auto const free = tutti::detail::net::listen(std::uint16_t{0});
    e.master = {"localhost", tutti::detail::net::local_address(free.get()).port()};
  }
  for (auto const& end : meet(3, e)) {
    std::string const text = end.value();
    BOOST_TEST(text.starts_with("0 of 3, 1 of 3, 2 of 3, 0 of 3, 1 of 3, 2 of 3, "), text);
    BOOST_TEST((text.ends_with(" 127.0.0.1") || text.ends_with(" ::1")), text);
  }
}

BOOST_AUTO_TEST_CASE(processes_meet_through_files) {
  char base[] = "/tmp/tutti-test-XXXXXX";
  BOOST_REQUIRE(::mkdtemp(base) != nullptr);
  environment e;
  e.directory = std::string(base) + "/job";
  e.local_size = 3;
  for (auto const& end : meet(3, e)) {
    BOOST_TEST(end.value() == "0 of 3, 1 of 3, 2 of 3, 0 of 3, 1 of 3, 2 of 3, 127.0.0.1");
  }
  BOOST_TEST(::rmdir(e.directory.c_str()) == 0);  // nothing is left in it
  BOOST_TEST(::rmdir(base) == 0);
}

BOOST_AUTO_TEST_CASE(a_world_of_one_meets_no_other) {
  BOOST_TEST(meet(1, {})[0].value().starts_with("0 of 1, 0 of 1, "));
}

BOOST_AUTO_TEST_CASE(a_named_interface_is_used) {
  environment e;
  e.network_interface = "lo";
  BOOST_TEST(launched_rendezvous(e).local_host() == "127.0.0.1");
  for (char const* const number : {"127.0.0.1", "127.0.0.2"}) {
    e.network_interface = number;
    BOOST_TEST(launched_rendezvous(e).local_host() == number);
  }
  for (char const* const none : {"nope0", "192.0.2.1"}) {  // reserved for documentation
    e.network_interface = none;
    BOOST_CHECK_EXCEPTION((void)launched_rendezvous(e).local_host(), tutti::error, [&](tutti::error const& error) {
      std::string_view const text = error.what();
      return text.find("'" + e.network_interface + "'") != text.npos && text.find("lo 127.0.0.1") != text.npos;
    });
  }
}
