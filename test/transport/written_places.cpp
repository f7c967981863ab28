// SPDX-License-Identifier: Apache-2.0
// test: plain (plain values, one thread)
#include <models/puppet_transport.hpp>
#include <support/traffic.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <vector>

using namespace tutti::support;

// A place that was given to `view` is the transport's until the message is whole. The couriers of the transport laws
// keep to that: messages stay correct over a transport that writes to places all the time.
BOOST_AUTO_TEST_CASE(couriers_leave_a_place_to_the_transport_until_the_message_is_whole) {
  constexpr tutti::rank_type n = 3;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    models::puppet_stage stage(n, seed);
    stage.shares_long = seed % 2 == 0;
    stage.writes_places = true;
    tutti::flow const message_flow{0, 0};
    std::vector<planned_message> const messages{{1, 100}, {1, 40}, {2, 100}, {2, 40}, {2, 7}};
    std::vector<std::unique_ptr<models::puppet>> puppets;
    std::vector<courier<models::puppet>> couriers;
    for (tutti::rank_type r = 0; r != n; ++r) {
      models::echo_rendezvous meet(r, n);
      puppets.push_back(std::make_unique<models::puppet>(meet, models::puppet::options{&stage}));
      job work{message_flow, {}, {}, {}};
      for (planned_message const& m : messages) {
        if (r == 0) {
          work.incoming.push_back(m);
        } else if (m.peer == r) {
          work.outgoing.push_back({0, m.bytes});
        }
      }
      couriers.emplace_back(work);
    }
    std::vector<bool> is_done(n);
    for (int turn = 0; turn != 10000 && is_done != std::vector<bool>(n, true); ++turn) {
      for (tutti::rank_type r = 0; r != n; ++r) {
        is_done[r] = is_done[r] || couriers[r].advance(*puppets[r]);
        BOOST_REQUIRE_EQUAL(couriers[r].complaint(), "");
      }
    }
    BOOST_TEST_REQUIRE((is_done == std::vector<bool>(n, true)), "they end");
  }
}
