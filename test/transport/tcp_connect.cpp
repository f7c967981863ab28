// SPDX-License-Identifier: Apache-2.0
// test: address thread left_to_sanitizers
#include "tcp_world.hpp"

#include <boost/test/unit_test.hpp>

#include <barrier>

namespace {

using namespace tutti;
using namespace tutti::detail;
using support::tcp_ranks;

BOOST_AUTO_TEST_CASE(only_neighbours_are_connected) {
  constexpr rank_type n = 6;
  tcp_ranks world(n);
  for (rank_type r = 0; r < n; ++r) {
    BOOST_TEST(world[r].connections() == 0U);
  }
  for (rank_type r = 0; r < n; ++r) {
    BOOST_TEST(world.deliver(r, (r + 1) % n, {0, 0}, 1000) == "");
  }
  for (rank_type r = 0; r < n; ++r) {
    BOOST_TEST(world[r].connections() == 2U);
    BOOST_TEST(world[r].incidents().empty());
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_only_waits_connects) {
  tcp_ranks world(2);
  for (rank_type const waits : {1U, 0U}) {
    rank_type const other = 1 - waits;
    BOOST_TEST(world.run_until([&] {
      BOOST_TEST(!world[waits].view(other, {0, 0}, {4, 4, nullptr}));
      return world[other].connections() == 1;  // a rank that has only polled
    }) == "");
  }
}

/// Both ranks connect at the same moment, many times: one connection stays, nothing is lost.
BOOST_AUTO_TEST_CASE(both_connect_at_once) {
  constexpr int rounds = 150;
  for (int round = 0; round < rounds; ++round) {
    constexpr rank_type n = 3;
    std::barrier start(n);
    auto const verdicts = support::thread_ranks::run(n, [&](auto& meet) -> support::verdict {
      tutti::tcp t(meet);
      start.arrive_and_wait();
      std::vector<laws::planned_message> const sizes{{0, 100}, {0, 300'000}, {0, 0}};
      support::verdict const bad = support::run(t, {laws::all_to_all_messages(t.rank(), n, {0, 0}, sizes)});
      return !bad.empty()               ? bad
             : t.connections() != n - 1 ? "too many connections"
             : !t.incidents().empty()   ? t.incidents()[0]
                                        : "";
    });
    laws::check_all(verdicts);
  }
}

BOOST_AUTO_TEST_CASE(the_interface_can_be_named) {
  for (char const* const name : {"lo", "127.0.0.1", "127.0.0.2"}) {
    tcp_options o;
    o.network_interface = name;
    tcp_ranks world(2, o);
    BOOST_TEST(world.deliver(0, 1, {0, 0}, 10) == "");
    BOOST_TEST(world[0].address().starts_with("127.0.0."));
  }
  thread_meeting place(1, std::chrono::seconds(30));
  thread_rendezvous meet(place, 0);
  tcp_options o;
  o.network_interface = "nosuch0";
  BOOST_CHECK_EXCEPTION(tutti::tcp(meet, o), error, [](error const& e) {
    return e.kind() == failure::join && std::string(e.what()).find("nosuch0") != std::string::npos;
  });
}

}  // namespace
