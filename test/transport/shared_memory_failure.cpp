// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE transport_shared_memory_failure
#include <laws/transport_failure.hpp>
#include <laws/transport_sleep.hpp>
#include <support/process_ranks.hpp>
#include <tutti/transport/shared_memory.hpp>

namespace {

using tutti::shared_memory;
using world = tutti::laws::world<shared_memory, tutti::support::process_ranks>;
using namespace tutti::laws;

BOOST_AUTO_TEST_CASE(faults) {
  for (tutti::rank_type const n : {2U, 3U, 17U}) {
    faults_are_known_to_all<world>(n);
    the_first_fault_wins<world>(n, true);
  }
}
BOOST_AUTO_TEST_CASE(mismatches) {
  mismatches_are_named<world>(2);
  mismatches_are_named<world>(5);
  lost_count_is_a_mismatch<world>();
}
BOOST_AUTO_TEST_CASE(departures) {
  a_departed_peer_is_missed_when_it_is_needed<world>();
  a_departed_reader_is_missed<world>(8);
  a_departed_reader_is_missed<world>(80'000);
}
BOOST_AUTO_TEST_CASE(deaths) {
  a_dead_process_is_found<world>(2, 0);
  a_dead_process_is_found<world>(4, 3);
  a_dead_process_is_found<world>(9, 1);
}
BOOST_AUTO_TEST_CASE(destruction) {
  destruction_with_work_in_flight_is_clean<world>(2, 100'000);
  destruction_with_work_in_flight_is_clean<world>(5, 100);
}
BOOST_AUTO_TEST_CASE(quiescence) {
  quiesce_waits_for_readers<world>(40);
}
BOOST_AUTO_TEST_CASE(sleep) {
  sleepers_are_woken<world>(2, 10'000, 4);
  sleepers_are_woken<world>(3, 1000, 50'000);
  releases_wake<world>(1000, 4);
  releases_wake<world>(1000, 1000);
  sleepers_learn_of_faults<world>(2);
  sleepers_learn_of_faults<world>(9);
}

}  // namespace
