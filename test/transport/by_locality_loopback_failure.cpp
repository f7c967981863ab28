// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE transport_by_locality_loopback_failure
#include <laws/locality.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/transport/loopback.hpp>

namespace {

using tutti::loopback;
using ranks = tutti::support::thread_ranks;
using mixed = tutti::laws::world<tutti::support::emulated_hosts<loopback, tutti::tcp, 2>, ranks>;
using uneven = tutti::laws::world<tutti::support::emulated_hosts<loopback, tutti::tcp, 3>, ranks>;
using namespace tutti::laws;

BOOST_AUTO_TEST_CASE(faults) {
  for (tutti::rank_type const n : {2U, 3U, 5U, 17U}) {
    faults_are_known_to_all<connected_world<loopback, ranks, 2>>(n);
    faults_are_known_to_all<connected_world<loopback, ranks, 3>>(n);
    the_first_fault_wins<mixed>(n, false);
  }
}
BOOST_AUTO_TEST_CASE(mismatches) {
  on_some_hosts<loopback, ranks>([]<class World>() {
    mismatches_are_named<World>(2);
    mismatches_are_named<World>(5);
    lost_count_is_a_mismatch<World>();
  });
}
BOOST_AUTO_TEST_CASE(names) {
  neighbours_are_named_by_their_world_ranks<mixed>();
}
BOOST_AUTO_TEST_CASE(departures) {
  on_some_hosts<loopback, ranks>([]<class World>() {
    a_departed_peer_is_missed_when_it_is_needed<World>();
    a_departed_reader_is_missed<World>(8);
    a_departed_reader_is_missed<World>(80'000);
  });
}
BOOST_AUTO_TEST_CASE(destruction) {
  destruction_with_work_in_flight_is_clean<mixed>(4, 100'000);
  destruction_with_work_in_flight_is_clean<uneven>(5, 100);
}
BOOST_AUTO_TEST_CASE(quiescence) {
  on_some_hosts<loopback, ranks>([]<class World>() { quiesce_waits_for_readers<World>(20); });
}
BOOST_AUTO_TEST_CASE(sleep) {
  on_some_hosts<loopback, ranks>([]<class World>() {
    sleepers_are_woken<World>(2, 1000, 4);
    sleepers_are_woken<World>(3, 300, 1000);
    sleepers_learn_of_faults<World>(3);
  });
  sleepers_are_woken<mixed>(4, 50, 300'000);
  sleepers_learn_of_faults<uneven>(9);
}

}  // namespace
