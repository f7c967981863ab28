// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <laws/transport.hpp>
#include <laws/transport_failure.hpp>
#include <support/simulated_worlds.hpp>

namespace laws = tutti::laws;
using tutti::failure;
using tutti::rank_type;
using worlds = support::simulated_transports;

BOOST_AUTO_TEST_CASE(it_delivers_everything_in_order) {
  laws::delivers_everything_in_order<worlds>(2, 5 << 20);
  laws::delivers_everything_in_order<worlds>(5, 100'003);
}

BOOST_AUTO_TEST_CASE(it_keeps_granules_whole) {
  laws::keeps_granules_whole<worlds>();
}

BOOST_AUTO_TEST_CASE(it_keeps_streams_apart) {
  laws::keeps_flows_apart<worlds>(3, 200);
}

BOOST_AUTO_TEST_CASE(full_lanes_hold_up_no_other) {
  laws::full_lanes_hold_up_no_other<worlds>(1000, 1 << 20);
}

BOOST_AUTO_TEST_CASE(views_are_stable_until_released) {
  laws::views_are_stable_until_released<worlds>(100);
}

BOOST_AUTO_TEST_CASE(faults_are_known_to_all) {
  laws::faults_are_known_to_all<worlds>(4);
  laws::the_first_fault_wins<worlds>(5, true);
}

BOOST_AUTO_TEST_CASE(calls_that_differ_are_named) {
  laws::mismatches_are_named<worlds>(4);
  laws::lost_count_is_a_mismatch<worlds>();
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_is_missed_when_needed) {
  laws::a_departed_peer_is_missed_when_it_is_needed<worlds>();
  laws::a_departed_reader_is_missed<worlds>(100);
}

BOOST_AUTO_TEST_CASE(destruction_is_clean) {
  laws::destruction_with_work_in_flight_is_clean<worlds>(3, 20'000);
}

BOOST_AUTO_TEST_CASE(it_is_made_by_simulate) {
  tutti::detail::simulation in(tutti::one_switch(1, {}), 1, {}, true);
  tutti::detail::simulated_meeting meeting(in);
  tutti::detail::simulated_rendezvous meet(meeting, 0);
  BOOST_CHECK_THROW(tutti::simulated(meet, tutti::simulated::options{}), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(networks_that_do_not_fit_are_refused) {
  auto const refuses = [](tutti::simulated_network const& net, rank_type n, tutti::simulation_options const& o) {
    BOOST_CHECK_THROW(tutti::detail::simulation(net, n, o, true), tutti::precondition_error);
  };
  auto const net = tutti::one_switch(2, {});
  refuses(net, 0, {});
  refuses({}, 1, {});
  refuses({.switches = {{}}, .hosts = {{1, {}}}}, 1, {});
  refuses({.switches = {{}, {}}, .hosts = {{0, {}}}}, 1, {});
  refuses(net, 2, {.place = {0}});
  refuses(net, 2, {.place = {0, 2}});
  refuses(net, 2, {.faults = {.deaths = {{2, {}}}}});
  refuses(net, 2, {.faults = {.lags = {{2, {}}}}});
  refuses(net, 2, {.window = 0});
}
